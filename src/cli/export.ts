import { type Command, Option } from '@commander-js/extra-typings'
import { extname } from 'node:path'
import type { ExportFormat } from '../domain/transfer/export'
import { type Cli, example, inSession, withDatabase } from './command'
import { writeWhole } from './files'
import { counted, print } from './output'
import { showProgress } from './progress'

const FORMATS = ['ndjson', 'json'] as const satisfies readonly ExportFormat[]

/** `satchel export` (design.md §6, protocol.md §9.4). */
export function addExportCommand(program: Command, cli: Cli): void {
  withDatabase(program.command('export'))
    .description('export the schema and all objects as a file that satchel import reads')
    .argument('[file]', 'where to, standard output when absent')
    .option('--table <name>', 'the objects of this table only')
    .option('--realm <id>', 'the objects of this realm only')
    .addOption(
      new Option('--format <name>', 'default: json for a file that ends in .json').choices(FORMATS),
    )
    .addHelpText(
      'after',
      '\nLeft out are hidden tables, realms that are being erased, clients and keys, and all users but\nthe demo users.',
    )
    .addHelpText(
      'after',
      example('satchel export backup.ndjson', 'satchel export --table cities | head'),
    )
    .action(async (file, options) => {
      const { db: database, table = null, realm = null } = options
      const format = options.format ?? (extname(file ?? '') === '.json' ? 'json' : 'ndjson')
      const { terminal } = cli
      using progress = showProgress(cli, options, 'objects')
      const run = (download: (bytes: Uint8Array) => Promise<void>) =>
        inSession(cli, options, (session) =>
          session.run(
            'export',
            { database, format, table, realm },
            { download, progress: progress.update },
          ),
        )
      if (file === undefined) {
        await run((bytes) => terminal.write(bytes))
        return
      }
      const exported = await writeWhole(file, run)
      progress[Symbol.dispose]()
      await print(
        cli,
        options,
        exported,
        `Exported ${counted(exported.objects, 'object')} to ${file}`,
      )
    })
}
