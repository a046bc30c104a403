import type { Command } from '@commander-js/extra-typings'
import { SCOPES } from '../domain/value/scope'
import { list, number } from './arguments'
import { type Cli, example, inSession, withDatabase } from './command'
import { print } from './output'

/** `satchel token`: an access token for trying things out. */
export function addTokenCommand(program: Command, cli: Cli): void {
  withDatabase(program.command('token'))
    .description('print an access token of a user, who need not exist yet')
    .requiredOption('--sub <user>', 'the user id, usually an e-mail address')
    .option('--scopes <list>', `what it may be used for, of ${SCOPES.join(',')}`, list, [
      'ACCESS_DB',
    ])
    .option('--expires-in <seconds>', 'how long it is valid (default: 3600)', number)
    .addHelpText(
      'after',
      example(
        'satchel token --sub alice@example.com',
        'curl -H "Authorization: Bearer $(satchel token --sub alice@example.com)" \\\n      http://127.0.0.1:7080/main/my/todoItems',
      ),
    )
    .action(async (options) => {
      const { db: database, sub: subject, scopes, expiresIn = null } = options
      const token = await inSession(cli, options, (session) =>
        session.run('token.issue', { database, subject, scopes, expiresIn }),
      )
      await print(cli, options, token, token.accessToken)
    })
}
