import {
  type Command,
  InvalidArgumentError,
  Option,
  type OptionValues,
} from '@commander-js/extra-typings'
import { UsageError } from '../config/config'
import type { Session } from '../control/session'
import { USER_ORDERS, USER_TYPES } from '../domain/store/users'
import type { UserJson, UserListJson } from '../domain/user/list'
import { MAX_USERS } from '../domain/user/query'
import { DAY, timeOfText } from '../domain/value/time'
import {
  carryOut,
  type Cli,
  confirm,
  type FolderOptions,
  inSession,
  jsonObject,
  tell,
  whole,
  withDatabase,
} from './command'
import { minute, print } from './output'
import { list, properties } from './table'

/** `satchel user list|show|add|set|deactivate|reactivate|delete` (spec.md §2.3, §3, §4.2, §4.3). */
export function addUserCommands(program: Command, cli: Cli): void {
  const user = program.command('user').description('the users of a database')

  withDatabase(
    user.command('list'),
    'satchel user list --search smith',
    'satchel user list --sort lastLogin --desc',
    'satchel user list --all --json > users.json',
  )
    .description('list users')
    .option('--search <text>', 'only users whose id, e-mail or name contains this text')
    .addOption(new Option('--type <type>', 'only users of this type').choices(USER_TYPES))
    .option('--active', 'only users who are not deactivated')
    .addOption(new Option('--inactive', 'only users who are deactivated').conflicts('active'))
    .addOption(new Option('--sort <by>', 'the order of the list').choices(USER_ORDERS))
    .option('--desc', 'in descending order')
    .option('--limit <number>', 'the maximum number of users', whole(1), 100)
    .addOption(new Option('--all', 'all users').conflicts('limit'))
    .option('--after <key>', 'continue after the previous list')
    .action(async (options) => {
      const { db: database, active, inactive } = options
      const query = new URLSearchParams()
      if (active || inactive) query.set('active', String(active === true))
      if (options.desc) query.set('desc', 'true')
      const texts = {
        search: options.search,
        type: options.type,
        sort: options.sort,
        pagingKey: options.after,
      }
      for (const [name, text] of Object.entries(texts)) if (text) query.set(name, text)
      const most = options.all ? Infinity : options.limit
      const found = await inSession(cli, options, (session) =>
        readUsers(session, database, query, most),
      )
      await print(cli, options, found, tableOfUsers(cli, found))
    })

  withDatabase(user.command('show'), 'satchel user show alice@example.com')
    .description('show one user')
    .argument('<id>', 'the user id, usually an e-mail address')
    .action((id, options) => tell(cli, 'user.show', { ...options, user: id }, describeUser))

  withFields(
    withDatabase(
      user.command('add'),
      'satchel user add alice@example.com --name Alice',
      'satchel user add bob@example.com --eval-days 14',
    ),
  )
    .description('create a user')
    .argument('<id>', 'the user id, usually an e-mail address')
    .action((id, options) => {
      // Only evaluation users have days of evaluation.
      const type = options.evalDays === undefined ? 'prod' : 'eval'
      return write(cli, options, id, { type }, true)
    })

  withFields(
    withDatabase(
      user.command('set'),
      'satchel user set alice@example.com --type prod',
      'satchel user set alice@example.com --valid-until 2031-01-01',
    ),
  )
    .description('change a user; omitted options stay unchanged')
    .argument('<id>', 'the user id')
    .action(async (id, options) => {
      const { type, name, email, validUntil, evalDays, properties } = options
      if ([type, name, email, validUntil, evalDays, properties].every((one) => one === undefined)) {
        throw new UsageError('Nothing to change: give an option, for instance --type prod')
      }
      await write(cli, options, id, {})
    })

  withDatabase(user.command('deactivate'), 'satchel user deactivate alice@example.com')
    .description('deactivate a user; nothing is deleted')
    .argument('<id>', 'the user id')
    .action((id, options) => write(cli, options, id, { deactivated: true }))

  withDatabase(user.command('reactivate'), 'satchel user reactivate alice@example.com')
    .description('reactivate a user')
    .argument('<id>', 'the user id')
    .action((id, options) => write(cli, options, id, { deactivated: false }))

  withDatabase(user.command('delete'), 'satchel user delete alice@example.com --yes')
    .description('delete a user and everything that only they could see; this cannot be undone')
    .argument('<id>', 'the user id')
    .option('--yes', 'do not ask')
    .action(async (id, options) => {
      const question = `This deletes the user and everything that only they could see. Type ${id}`
      const asked = { what: 'the user', called: 'the user id', question }
      if (!options.yes) await confirm(cli, id, asked)
      const careful = { isDestructive: true }
      const deleted = await carryOut(cli, 'user.delete', { ...options, user: id }, careful)
      await print(
        cli,
        options,
        { userId: deleted.id, left: LEFT },
        `The user ${deleted.id} is deleted\n${LEFT}`,
      )
    })
}

/** The answer of a deletion names what it does not reach (promises.md 57). */
const LEFT =
  'Bytes of erased rows are overwritten in the minutes after; some can stay in gaps of pages until satchel db compact. Freed blocks of the disk, snapshots, copies from before an upgrade and backups keep what they had; a restore deletes the user again where a later backup stands beside'

/** Pages of users as one list of up to `most`. */
async function readUsers(
  session: Session,
  database: string,
  query: URLSearchParams,
  most: number,
): Promise<UserListJson> {
  const data: UserJson[] = []
  for (;;) {
    query.set('limit', String(Math.min(most - data.length, MAX_USERS)))
    const page = await session.run('user.list', { database, query: query.toString() })
    data.push(...page.data)
    if (page.pagingKey === undefined || data.length >= most) return { ...page, data }
    query.set('pagingKey', page.pagingKey)
  }
}

/** The options that describe a user. */
function withFields<Args extends unknown[], Options extends OptionValues>(
  command: Command<Args, Options>,
) {
  return command
    .addOption(new Option('--type <type>', 'the type of the user').choices(USER_TYPES))
    .option('--name <name>', 'the display name')
    .option('--email <address>', 'the e-mail address, if it differs from the id')
    .option(
      '--valid-until <time>',
      'the end of the account (ISO 8601; a day begins in UTC), or never',
      end,
    )
    .option('--eval-days <number>', 'the remaining days of evaluation', whole(0))
    .option(
      '--properties <json>',
      'other properties to store: a JSON object',
      jsonObject('a JSON object'),
    )
}

interface WriteOptions extends FolderOptions {
  readonly db: string
  readonly json?: true | undefined
  readonly type?: string | undefined
  readonly name?: string | undefined
  readonly email?: string | undefined
  readonly validUntil?: string | undefined
  readonly evalDays?: number | undefined
  readonly properties?: object | undefined
}

/** Writes one user, with these properties besides the options, and shows the result. */
function write(
  cli: Cli,
  { type, name: displayName, validUntil, evalDays, properties, ...options }: WriteOptions,
  userId: string,
  given: object,
  isNew = false,
): Promise<void> {
  const user = {
    userId,
    ...given,
    ...(type === undefined ? {} : { type }),
    ...(validUntil === undefined ? {} : { validUntil: validUntil === 'never' ? null : validUntil }),
    ...(evalDays === undefined ? {} : { evalDaysLeft: evalDays }),
    ...(properties === undefined ? {} : { data: properties }),
  }
  const input = { ...options, user: JSON.stringify(user), isNew, displayName }
  return tell(cli, 'user.write', input, describeUser)
}

/** Throws `InvalidArgumentError` for anything but a time or never. */
function end(text: string): string {
  if (text === 'never' || timeOfText(text) !== undefined) return text
  throw new InvalidArgumentError(
    'it must be a time such as 2031-01-31 or 2031-01-31T12:00Z, or never.',
  )
}

function tableOfUsers({ clock, terminal }: Cli, { data, pagingKey }: UserListJson): string {
  const now = clock.now()
  const rows = data.map((user) => [
    user.userId,
    user.type,
    colored(stateOf(user, now)),
    endOf(user, now),
    user.lastLogin === null ? 'never' : minute(user.lastLogin),
    nameOf(user),
  ])
  const headings = ['id', 'type', 'state', 'ends', 'last login', { mayCut: 'name' }]
  const width = terminal.outputWidth
  return list(headings, rows, { none: 'No users were found', cursor: pagingKey, width })
}

/** One user, a property on each line. */
function describeUser(user: UserJson): string {
  const { displayName: _, email, ...rest } = user.data ?? {}
  return properties([
    ['User id', user.userId],
    ['Type', user.type],
    ['Name', nameOf(user)],
    ['E-mail', typeof email === 'string' ? email : ''],
    ['Evaluation', evaluationOf(user)],
    ['Valid until', user.validUntil ?? ''],
    ['Deactivated', user.deactivated ?? ''],
    ['Last login', user.lastLogin ?? 'never'],
    ['Created', user.created],
    ['Properties', Object.keys(rest).length === 0 ? '' : JSON.stringify(rest)],
  ])
}

/** A user of another type keeps days that do not count. */
function evaluationOf({ type, evalDaysLeft }: UserJson): string {
  return type === 'eval' && evalDaysLeft !== undefined ? days(evalDaysLeft) : ''
}

/** The states in tables. */
const COLORS = { active: 'green', expired: 'yellow', deactivated: 'red' } as const

function colored(state: keyof typeof COLORS) {
  return [COLORS[state], state] as const
}

function stateOf(
  { deactivated, type, evalDaysLeft, validUntil }: UserJson,
  now: number,
): keyof typeof COLORS {
  if (deactivated !== null) return 'deactivated'
  const hasEvaluated = type === 'eval' && evalDaysLeft === 0
  const isOver = validUntil !== undefined && Date.parse(validUntil) <= now
  return hasEvaluated || isOver ? 'expired' : 'active'
}

/** The earlier end: of the evaluation or of the account. */
function endOf({ type, evalDaysLeft, validUntil }: UserJson, now: number): string {
  const day = validUntil?.slice(0, 10) ?? ''
  if (type !== 'eval' || evalDaysLeft === undefined) return day
  const isShorter = validUntil !== undefined && Date.parse(validUntil) < now + evalDaysLeft * DAY
  return isShorter ? day : `in ${days(evalDaysLeft)}`
}

function nameOf({ data }: UserJson): string {
  const name = data?.['displayName']
  return typeof name === 'string' ? name : ''
}

function days(count: number): string {
  return count === 1 ? '1 day' : `${count} days`
}
