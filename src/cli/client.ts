import { type Command, Option } from '@commander-js/extra-typings'
import { SCOPES } from '../domain/value/scope'
import { carryOut, type Cli, items, number, tell, withDatabase } from './command'
import { credentials, isoTime, print } from './output'
import { table } from './table'

/** `satchel client create|list|revoke|rotate` (protocol.md §9.2, §9.3). */
export function addClientCommands(program: Command, cli: Cli): void {
  const client = program.command('client').description('the API clients of a database')

  withDatabase(
    client.command('create'),
    'satchel client create --scopes ACCESS_DB,GLOBAL_READ --name reports',
  )
    .description('create a client and print its secret')
    .requiredOption('--scopes <list>', `its scopes, of ${SCOPES.join(', ')}`, items)
    .option('--name <name>', 'a name for the client')
    .option(
      '--email <address>',
      'its owner, who with GLOBAL_READ and GLOBAL_WRITE may log in as other users',
    )
    .action((options) =>
      tell(cli, 'client.create', options, (created) => credentials(cli, created)),
    )

  withDatabase(client.command('list'), 'satchel client list')
    .description('list the clients, oldest first')
    .action(async (options) => {
      const found = await carryOut(cli, 'client.list', options)
      const data = found.map(({ id: clientId, created, expires, ...rest }) => {
        return { clientId, ...rest, created: isoTime(created), expires: isoTime(expires) }
      })
      const rows = data.map(({ clientId, name, email, created, expires, scopes, isPending }) => [
        clientId,
        name ?? '',
        isPending ? `${email} (not connected)` : (email ?? ''),
        day(created),
        expires === null ? '' : day(expires),
        scopes.length === SCOPES.length ? 'all' : scopes.join(','),
      ])
      const headings = ['id', { mayCut: 'name' }, 'e-mail', 'created', 'ends', 'scopes']
      await print(cli, options, { data }, table(headings, rows, cli.terminal.outputWidth))
    })

  withDatabase(client.command('revoke'), 'satchel client revoke q2vR8XkFZ0m7yTn4bLw1sA')
    .description('revoke a client and its tokens')
    .argument('<id>', 'the id of the client')
    .action((id, options) =>
      tell(
        cli,
        'client.revoke',
        { ...options, id },
        () => `Client ${id} and its tokens are revoked`,
        () => ({ clientId: id }),
      ),
    )

  withDatabase(
    client.command('rotate'),
    'satchel client rotate',
    'satchel client rotate q2vR8XkFZ0m7yTn4bLw1sA --days 30',
  )
    .description('replace a client with a new one that has the same scopes')
    .argument('[id]', 'the id of the client; needed when there are several')
    .addOption(
      new Option('--days <number>', 'how many days the old one stays valid').argParser(number),
    )
    .action(async (id, options) => {
      const rotated = await carryOut(cli, 'client.rotate', { ...options, id })
      const { oldClientId, oldClientExpiresAt: end, ...created } = rotated
      const oldClientExpires = isoTime(end)
      const value = { ...created, oldClientId, oldClientExpires }
      const text = `Client ${oldClientId} is valid until ${oldClientExpires}`
      await print(cli, options, value, `${credentials(cli, rotated)}\n${text}`)
    })
}

function day(time: string): string {
  return time.slice(0, 10)
}

/** `satchel token`: an access token for tests. */
export function addTokenCommand(program: Command, cli: Cli): void {
  withDatabase(
    program.command('token'),
    'satchel token --sub alice@example.com',
    'curl -H "Authorization: Bearer $(satchel token --sub alice@example.com)" \\\n      http://127.0.0.1:7080/main/my/todoItems',
  )
    .description('print an access token of a user, existing or not')
    .requiredOption('--sub <user>', 'the user id, usually an e-mail address')
    .option('--scopes <list>', `its scopes, of ${SCOPES.join(', ')}`, items, ['ACCESS_DB'])
    .option('--expires-in <seconds>', 'its validity in seconds (default: 3600)', number)
    .action((options) =>
      tell(
        cli,
        'token.issue',
        { ...options, subject: options.sub },
        ({ accessToken }) => accessToken,
        ({ accessTokenExpiration, ...token }) => {
          return { ...token, accessTokenExpiration: isoTime(accessTokenExpiration) }
        },
      ),
    )
}
