import { type Command, InvalidArgumentError } from '@commander-js/extra-typings'
import { SatchelError } from '../domain/value/error'
import { amount } from '../config/setting-values'
import { number } from './arguments'
import { describeBlob, describeQuota, describeVerification, tableOfBlobs } from './blob-output'
import { type Cli, example, inSession, withDatabase } from './command'
import { counted, print, size } from './output'
import { showProgress } from './progress'

/** `satchel blob list|show|quota|gc|verify` (design.md §3, §5.9, protocol.md §8). */
export function addBlobCommands(program: Command, cli: Cli): void {
  const blob = program.command('blob').description('the binary data beside the objects')

  withDatabase(blob.command('list'))
    .description('list blobs')
    .option('--unreferenced', 'those that no object references')
    .option('--limit <number>', 'how many at the most', number, 100)
    .option('--after <id>', 'go on where the list before ended', '')
    .addHelpText('after', example('satchel blob list', 'satchel blob list --unreferenced'))
    .action(async (options) => {
      const { db: database, after, limit, unreferenced: onlyUnreferenced = false } = options
      const page = await inSession(cli, options, (session) =>
        session.run('blob.list', { database, after, limit, onlyUnreferenced }),
      )
      await print(cli, options, page, tableOfBlobs(page))
    })

  withDatabase(blob.command('show'))
    .description('show a blob, who uploaded it and what references it')
    .argument('<blob>', 'its ref, or the id in it')
    .addHelpText('after', example('satchel blob show 1:0Q7wmXvO3IdAJuWXRbP9ImQZ'))
    .action(async (name, options) => {
      const shown = await inSession(cli, options, (session) =>
        session.run('blob.show', { database: options.db, blob: name }),
      )
      await print(cli, options, shown, describeBlob(shown))
    })

  addQuotaCommand(blob, cli)

  withDatabase(blob.command('gc'))
    .description('remove what no object has referenced for a day, as a server does every hour')
    .option('--dry-run', 'only say what would go')
    .addHelpText('after', example('satchel blob gc --dry-run', 'satchel blob gc'))
    .action(async (options) => {
      const { db: database, dryRun = false } = options
      using progress = showProgress(cli, options, 'blobs')
      const collected = await inSession(cli, options, (session) =>
        session.run('blob.gc', { database, dryRun }, { progress: progress.update }),
      )
      progress[Symbol.dispose]()
      const { blobs, bytes, strays } = collected
      const files = strays === 0 ? '' : ` and ${counted(strays, 'file')} that no blob has`
      const verb = dryRun ? 'Would remove' : 'Removed'
      await print(
        cli,
        options,
        collected,
        `${verb} ${counted(blobs, 'blob')} (${size(bytes)})${files}`,
      )
    })

  withDatabase(blob.command('verify'))
    .description('read the bytes of all blobs and hold them against their hashes')
    .addHelpText('after', example('satchel blob verify'))
    .action(async (options) => {
      using progress = showProgress(cli, options, 'bytes')
      const found = await inSession(cli, options, (session) =>
        session.run('blob.verify', { database: options.db }, { progress: progress.update }),
      )
      progress[Symbol.dispose]()
      await print(cli, options, found, describeVerification(found))
      const count = found.faults.length
      if (count > 0) {
        throw new SatchelError(
          'STORAGE_FAILED',
          `${counted(count, 'file')} of blobs ${count === 1 ? 'is' : 'are'} damaged or missing: bring the same bytes again, by uploading them or by importing a .zip that has them`,
        )
      }
    })
}

function addQuotaCommand(blob: Command, cli: Cli): void {
  withDatabase(blob.command('quota'))
    .description('show or set how much room blobs may take; what is not named stays')
    .option(
      '--total <size>',
      'of all blobs: 20GB, none for any, server for what the server says',
      limit,
    )
    .option('--user <size>', 'of what each user uploads', limit)
    .option('--blob <size>', 'of one blob', limit)
    .addHelpText(
      'after',
      example(
        'satchel blob quota',
        'satchel blob quota --total 20GB --user 500MB',
        'satchel blob quota --total none',
      ),
    )
    .action(async (options) => {
      const { db: database, total = null, user = null, blob = null } = options
      const found = await inSession(cli, options, (session) =>
        session.run('blob.quota', { database, total, user, blob }),
      )
      await print(cli, options, found, describeQuota(found))
    })
}

function limit(text: string): number | 'none' | 'server' {
  if (text === 'none' || text === 'server') return text
  try {
    return amount(text)
  } catch {
    throw new InvalidArgumentError('a size such as 20GB is needed, none or server.')
  }
}
