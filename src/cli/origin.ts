import type { Command } from '@commander-js/extra-typings'
import { type Cli, example, inSession, withDatabase } from './command'
import { print } from './output'

/** `satchel origin add|remove|list`: the pages that may call a database (protocol.md §11). */
export function addOriginCommands(program: Command, cli: Cli): void {
  const origin = program.command('origin').description('the web pages that may use a database')

  withDatabase(origin.command('add'))
    .description('let the pages of an origin use the database')
    .argument('<origin>', 'https://app.example.com, capacitor://localhost, app:Name or myapp:')
    .option('--force', 'even if it is http and not on this machine')
    .addHelpText('after', example('satchel origin add https://app.example.com'))
    .action(async (given, options) => {
      const { db: database, force = false } = options
      const added = await inSession(cli, options, (session) =>
        session.run('origin.add', { database, origin: given, force }),
      )
      await print(cli, options, added, `Pages of ${added.origin} may use the database ${database}`)
    })

  withDatabase(origin.command('remove'))
    .description('do not let them any more')
    .argument('<origin>', 'as satchel origin list shows it')
    .addHelpText('after', example('satchel origin remove https://app.example.com'))
    .action(async (given, options) => {
      const { db: database } = options
      const { removed } = await inSession(cli, options, (session) =>
        session.run('origin.remove', { database, origin: given }),
      )
      const text = removed ? `${given} is removed` : `${given} was not listed`
      await print(cli, options, { origin: given, removed }, text)
    })

  withDatabase(origin.command('list'))
    .description('list the origins')
    .addHelpText('after', example('satchel origin list'))
    .action(async (options) => {
      const origins = await inSession(cli, options, (session) =>
        session.run('origin.list', { database: options.db }),
      )
      await print(cli, options, origins, origins.join('\n') || 'No origin is listed')
    })
}
