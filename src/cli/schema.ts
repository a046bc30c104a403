import type { Command } from '@commander-js/extra-typings'
import type { ShownSchema } from '../control/schemas'
import { type Cli, example, inSession, withDatabase } from './command'
import { openInput } from './files'
import { print } from './output'

/** `satchel schema push|show` (protocol.md §9.4, §10). */
export function addSchemaCommands(program: Command, cli: Cli): void {
  const schema = program.command('schema').description('the tables of a database')

  withDatabase(schema.command('push'))
    .description('declare the tables of a JSON file: {"todoItems": "@id, title", "old": null}')
    .argument('<file>', 'the file, - for standard input; tables it does not name stay as they are')
    .addHelpText('after', example('satchel schema push schema.json'))
    .action(async (file, options) => {
      const { bytes: upload } = openInput(cli, file)
      const pushed = await inSession(cli, options, (session) =>
        session.run('schema.push', { database: options.db }, { upload }),
      )
      const names = Object.keys(pushed.schema).join(', ')
      await print(cli, options, pushed, `Pushed ${names || 'nothing'}`)
      reportBuilding(cli, options, pushed)
    })

  withDatabase(schema.command('show'))
    .description('print the tables as a file that can be pushed')
    .addHelpText('after', example('satchel schema show > schema.json'))
    .action(async (options) => {
      const shown = await inSession(cli, options, (session) =>
        session.run('schema.show', { database: options.db }),
      )
      await print(cli, options, shown, JSON.stringify(shown.schema, undefined, 2))
      reportBuilding(cli, options, shown)
    })
}

function reportBuilding(
  { terminal }: Cli,
  { json }: { readonly json?: true | undefined },
  { building }: ShownSchema,
): void {
  if (json) return
  for (const { table, index } of building) {
    terminal.complain(`The index ${index} of ${table} is being built; filters work without it\n`)
  }
}
