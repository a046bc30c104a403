import { type Command, InvalidArgumentError, Option } from '@commander-js/extra-typings'
import type { OutputOf } from '../control/operations'
import { EXPLAINED } from '../domain/object/explain'
import { IDP_FAILURES, type IdpPerson } from '../host/test-mode'
import { parseSender } from '../mail/message'
import { type Cli, example, number, tell, withDatabase } from './command'
import { isoTime } from './output'
import { table } from './table'

/** `satchel test …`: the addresses for tests as commands (docs/testing.md). */
export function addTestCommands(program: Command, cli: Cli): void {
  const test = program
    .command('test')
    .enablePositionalOptions()
    .description('a server in test mode: reset, snapshots, mails, logins, the clock, faults')
    .addHelpText(
      'after',
      '\nThe server is one of satchel serve --memory --test; --data is the folder of its ready line.',
    )
    .addHelpText('after', example('satchel test reset --data /dev/shm/satchel-memory-x'))

  test
    .command('exec')
    .description('run a command beside a backend of its own, and end with its exit code')
    .argument('[command...]', 'the command and its arguments, after --')
    .passThroughOptions()
    .option('--schema <file>', 'declare the tables of this file')
    .option('--seed <path>', 'import this file, or all files of a folder')
    .option('--port <number>', 'the port of the backend (default: any free one)')
    .option('--export <file>', 'export the database to this file when the command has ended')
    .addHelpText('after', EXEC_HELP)
    .addHelpText(
      'after',
      example(
        'satchel test exec --schema schema.json -- npm test',
        'satchel test exec --export left.ndjson -- npx playwright test',
      ),
    )
    .action(async (command, options) => {
      await (await import('./exec')).runBeside(cli, options, command)
    })

  withDatabase(test.command('snapshot'))
    .description('keep the database as it is, and print the id of the snapshot')
    .action((options) => tell(cli, 'test.snapshot', options, ({ id }) => id))

  withDatabase(test.command('snapshots'))
    .description('list the snapshots, the newest first')
    .action((options) =>
      tell(
        cli,
        'test.snapshots',
        options,
        ({ snapshots }, width) =>
          snapshots.length === 0
            ? `There are no snapshots of the database ${options.db}`
            : table(
                ['snapshot', 'taken'],
                snapshots.map(({ id, created }) => [id, created]),
                width,
              ),
        ({ snapshots }) => ({ data: snapshots }),
      ),
    )

  withDatabase(test.command('restore <id>'))
    .description('return to a snapshot')
    .action((id, options) => tell(cli, 'test.restore', { ...options, id }, () => `Restored ${id}`))

  withDatabase(test.command('forget <id>'))
    .description('delete a snapshot')
    .action((id, options) => tell(cli, 'test.forget', { ...options, id }, () => `Deleted ${id}`))

  withDatabase(test.command('fork <id>'))
    .description('make a database of a snapshot, and print its address')
    .action((id, options) =>
      tell(cli, 'test.fork', { ...options, id }, ({ name, url }) => url ?? name),
    )

  withDatabase(test.command('reset'))
    .description('keep schema, clients and settings, empty the rest and apply the seed again')
    .action((options) =>
      tell(cli, 'test.reset', options, () => `The database ${options.db} is as at its start`),
    )

  withDatabase(test.command('mail'))
    .description('print the mails, the newest first')
    .option('--to <address>', 'only mails to this address')
    .option('--after <id>', 'only mails that came after this one')
    .option('--wait <time>', 'wait for a mail, such as 5s')
    .action((options) =>
      // As text: the operation reads it.
      tell(cli, 'test.mail', { ...options, wait: options.wait as never }, ({ mails }) =>
        mails.map((mail) => `To ${mail.to}: ${mail.subject}\n\n${mail.text}`).join('\n'),
      ),
    )

  withDatabase(test.command('login <email>'))
    .description('log a user in, and print the access token')
    .option('--name <name>', 'the name of the user')
    .option('--page <url>', 'print the address with which this page is logged in instead')
    .action((email, options) =>
      tell(
        cli,
        'test.login',
        { ...options, email },
        ({ url, accessToken }) => url ?? accessToken,
        (tokens) => ({
          ...tokens,
          accessTokenExpiration: isoTime(tokens.accessTokenExpiration),
        }),
      ),
    )

  withDatabase(test.command('clock'))
    .description('read or move the clock of the database')
    .option('--advance <time>', 'move it by this time, such as 31d, 1h30m or -2m')
    .option('--set <time>', 'set it, such as 2030-01-31T09:00:00Z')
    .addOption(new Option('--freeze', 'stop it').conflicts('run'))
    .option('--run', 'let it run on')
    .action((options) => {
      const freeze = options.freeze ?? (options.run && false)
      return tell(cli, 'test.clock', { ...options, freeze }, ({ now, frozen }) =>
        frozen ? `${now} (stopped)` : now,
      )
    })

  withDatabase(
    test.command('idp'),
    "satchel test idp 'Alice <alice@example.com>' eve@example.com=denied --data FOLDER",
  )
    .description('add the login provider for tests to the database')
    .argument(
      '[people...]',
      `its people instead of those it has: addresses, with a name or a failure (${IDP_FAILURES.join(', ')})`,
      addPerson,
    )
    .action((people, options) =>
      tell(cli, 'test.idp', { ...options, people }, ({ provider, issuer }) => {
        return `${provider}   ${issuer}`
      }),
    )

  withDatabase(test.command('idp-login <email>'))
    .description('log a person in at the login provider, and print where the browser returns to')
    .requiredOption('--redirect-uri <url>', 'the page of the application')
    .option('--provider <name>', 'the name of the provider (default: test)')
    .action((as, options) => {
      const { redirectUri: redirect_uri, ...rest } = options
      return tell(cli, 'test.idp-login', { ...rest, as, redirect_uri }, ({ url }) => url)
    })

  withDatabase(test.command('fault'))
    .description('make requests of the database fail, until the next restore or reset')
    .option('--latency <time>', 'each takes so much longer, such as 200ms')
    .option('--error-rate <share>', 'this share gets 503, from 0 to 1', number)
    .option('--offline', 'none is executed, and connections break')
    .option('--lose-replies', 'all are executed, and connections break before the answer')
    .option('--none', 'nothing fails')
    .action((options) => {
      const { none, ...faults } = options
      const input = none
        ? { latency: '0ms', errorRate: 0, offline: false, loseReplies: false, ...faults }
        : faults
      const valueOf = ({ latency: latencyMs, ...fault }: OutputOf<'test.fault'>) => {
        return { latencyMs, ...fault }
      }
      const textOf = (fault: OutputOf<'test.fault'>) => JSON.stringify(valueOf(fault))
      return tell(cli, 'test.fault', input, textOf, valueOf)
    })
}

const EXEC_HELP = `
The command finds the backend by variables of its environment: SATCHEL_TEST_URL (the address of the database), SATCHEL_TEST_TOKEN (for the addresses for tests), SATCHEL_TEST_CLIENT_ID and SATCHEL_TEST_CLIENT_SECRET (a client with all scopes) and SATCHEL_TEST_FOLDER (for --data). Signals go to the command; 127 says that it was not found.`

/** `Eve <eve@example.com>=denied`; name and failure may be absent. Throws `InvalidArgumentError`. */
function addPerson(text: string, others: readonly IdpPerson[] = []): readonly IdpPerson[] {
  const end = text.indexOf('=', text.lastIndexOf('@'))
  // The operation refuses other failures.
  const failure = end === -1 ? null : (text.slice(end + 1) as IdpPerson['failure'])
  try {
    const { name, address } = parseSender(end === -1 ? text : text.slice(0, end))
    return [...others, { email: address, name: name || null, failure }]
  } catch (error) {
    throw new InvalidArgumentError(`give ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** `satchel explain`: the rights of a user, on any data folder. */
export function addExplainCommand(program: Command, cli: Cli): void {
  withDatabase(program.command('explain'))
    .description('explain whether a user may do something, step by step')
    .requiredOption('--as <user>', 'the user id')
    .addOption(
      new Option('--do <act>', 'what the user would do').choices(EXPLAINED).makeOptionMandatory(),
    )
    .requiredOption('--table <name>', 'the table')
    .option('--key <key>', 'the key of the object, for all but add')
    .option('--realm <id>', 'the realm to add to (default: the private one of the user)')
    .option('--property <name>', 'the property to update (default: any)')
    .addHelpText(
      'after',
      '\nRows of realms, members and roles have further rules, which it does not look at.',
    )
    .addHelpText(
      'after',
      example('satchel explain --as bob@example.com --do delete --table todoItems --key milk'),
    )
    .action((options) => tell(cli, 'explain', options, describe))
}

function describe(
  { allowed, rule, user, object, realm, members }: OutputOf<'explain'>,
  width?: number,
): string {
  const rows = members.flatMap(({ row, state, permissions, roles }) => [
    [row, state, '', JSON.stringify(permissions)],
    ...roles.map((role) => [
      row,
      state,
      role.name,
      role.permissions === null ? 'no such role' : JSON.stringify(role.permissions),
    ]),
  ])
  return [
    `${allowed ? 'Allowed' : 'Not allowed'}: ${rule}`,
    `User        ${user.userId}, ${user.state}`,
    ...(object === null ? [] : [`Object      ${object.key}, owner ${object.owner ?? 'none'}`]),
    ...(realm === null ? [] : [`Realm       ${realm.realmId}, ${realm.kind}`]),
    ...(rows.length === 0 ? [] : [table(['row', 'state', 'role', 'permissions'], rows, width)]),
  ].join('\n')
}
