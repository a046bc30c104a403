import type { Command } from '@commander-js/extra-typings'
import { UsageError } from '../config/config'
import type { OutputOf } from '../control/operations'
import { type Cli, example, inSession, withDatabase } from './command'
import { openInput } from './files'
import { counted, print } from './output'
import { showProgress } from './progress'

/** `satchel import` (design.md §6, protocol.md §9.4). */
export function addImportCommand(program: Command, cli: Cli): void {
  withDatabase(program.command('import'))
    .description(
      'import a file of objects and blobs; all of it is found good before anything is changed',
    )
    .argument('<file>', 'zip, NDJSON or JSON as satchel export writes it, - for standard input')
    .option('--table <name>', 'the file is a plain list of objects of this table')
    .option('--realm <id>', 'the realm of those objects')
    .option('--atomic', 'all at once, while other writers wait, instead of in small steps')
    .option('--dry-run', 'find out whether the file is good, and change nothing')
    .addHelpText(
      'after',
      example(
        'satchel import backup.zip',
        'satchel import cities.json --table cities --realm rlm-public',
      ),
    )
    .action(async (file, options) => {
      const { db: database, table = null, realm = null, atomic = false, dryRun = false } = options
      if (realm !== null && table === null) {
        throw new UsageError('--realm needs --table: name the table of the objects')
      }
      const { bytes: upload, size } = openInput(cli, file)
      using progress = showProgress(cli, options, 'bytes')
      const imported = await inSession(cli, options, (session) =>
        session.run(
          'import',
          { database, table, realm, atomic, dryRun, size },
          { upload, progress: progress.update },
        ),
      )
      progress[Symbol.dispose]()
      await print(cli, options, imported, summary(imported, dryRun))
    })
}

function summary(imported: OutputOf<'import'>, isDryRun: boolean): string {
  const { objects, deleted, demoUsers, blobs, tables } = imported
  const parts = [
    counted(objects, 'object'),
    ...(deleted > 0 ? [counted(deleted, 'deletion')] : []),
    ...(demoUsers > 0 ? [counted(demoUsers, 'demo user')] : []),
    ...(blobs > 0 ? [counted(blobs, 'blob')] : []),
    ...(tables > 0 ? [counted(tables, 'table')] : []),
  ]
  return isDryRun
    ? `The file is good: ${parts.join(', ')}. Nothing was changed`
    : `Imported ${parts.join(', ')}`
}
