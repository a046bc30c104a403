import type { Command } from '@commander-js/extra-typings'
import type { OutputOf } from '../control/operations'
import { carryOut, type Cli, withDatabase } from './command'
import { openInput } from './files'
import { counted, print } from './output'

/** `satchel schema push|show` (protocol.md §9.4, §10). */
export function addSchemaCommands(program: Command, cli: Cli): void {
  const schema = program.command('schema').description('the tables of a database')

  withDatabase(schema.command('push'), 'satchel schema push schema.json')
    .description('declare the tables of a JSON file: {"todoItems": "@id, title", "old": null}')
    .argument('<file>', 'the file, - for standard input; tables it does not name stay unchanged')
    .option('--wait', 'wait until new indexes of existing objects are complete')
    .action(async (file, options) => {
      const streams = { upload: openInput(cli, file).bytes }
      const running = { streams, progressIn: 'objects' } as const
      const pushed = await carryOut(cli, 'schema.push', options, running)
      await print(cli, options, pushed, summary(pushed))
      remark(cli, options, pushed)
    })

  withDatabase(schema.command('show'), 'satchel schema show > schema.json')
    .description('print the tables as a file that can be pushed; hidden ones are null')
    .action(async (options) => {
      const shown = await carryOut(cli, 'schema.show', options)
      await print(cli, options, shown, JSON.stringify(shown.schema, undefined, 2))
      remark(cli, options, shown)
    })
}

function summary({ change }: OutputOf<'schema.push'>): string {
  const parts = [
    { verb: 'Created', names: change.created },
    { verb: 'Changed', names: change.changed },
    { verb: 'Hid', names: change.hidden },
  ]
  const lines = parts.filter(({ names }) => names.length > 0)
  if (lines.length === 0) return 'Nothing changed'
  return lines.map(({ verb, names }) => `${verb} ${names.join(', ')}`).join('\n')
}

/** Notes that are not in the file, on standard error. */
function remark(
  { terminal }: Cli,
  { json }: { readonly json?: true | undefined },
  { building, sealed }: OutputOf<'schema.show'>,
): void {
  if (json) return
  if (sealed) terminal.writeError('The database is sealed: clients cannot add tables\n')
  for (const { table, index, done, total } of building) {
    terminal.writeError(
      `The index ${index} of ${table} is being built (${counted(done, 'object')} of ${total.toLocaleString('en')}); filters work without it\n`,
    )
  }
}
