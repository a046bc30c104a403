import { type Command, InvalidArgumentError } from '@commander-js/extra-typings'
import type { OutputOf } from '../control/operations'
import { isRecord } from '../domain/value/value'
import { carryOut, type Cli, example, list, tell, withDatabase } from './command'
import { isoTime, print } from './output'
import { oneLine, table } from './table'

const AFTER = ['--after <cursor>', 'continue after the previous list'] as const
const OF_ROLES = [
  '--realm <id>',
  'the realm of the role (default: roles that count in all realms)',
] as const
const PERMISSIONS = [
  '--permissions <json>',
  'what it allows, such as {"add":["todoItems"],"update":"*"} or {"manage":"*"}',
  permissions,
] as const

/** `satchel realm list|show|add|update|remove`. */
export function addRealmCommands(program: Command, cli: Cli): void {
  const realm = program.command('realm').description('the realms of a database')

  withDatabase(realm.command('list'))
    .description('list the realms, the newest first')
    .option('--search <text>', 'only realms with this text in their id or their values')
    .option(...AFTER)
    .addHelpText('after', example('satchel realm list --search shopping'))
    .action(async ({ after, ...options }) => {
      const { realms, cursor } = await carryOut(cli, 'realm.list', { ...options, cursor: after })
      const rows = realms.map(({ realm: id, name, owner, updated }) => [
        id,
        owner ?? '',
        isoTime(updated),
        name ?? '',
      ])
      const text = table(['realm', 'owner', 'updated', { mayCut: 'name' }], rows, width(cli))
      const data = realms.map((each) => ({ ...each, updated: isoTime(each.updated) }))
      const shown = realms.length === 0 ? 'There are no realms' : `${text}${more(cursor)}`
      await print(cli, options, { data, cursor }, shown)
    })

  withDatabase(realm.command('show'))
    .description('show a realm')
    .argument('<realm>', 'its id')
    .addHelpText('after', example('satchel realm show rlmA'))
    .action((id, options) =>
      tell(cli, 'realm.show', { ...options, realm: id }, describeRealm, realmForJson),
    )

  withDatabase(realm.command('add'))
    .description('add a realm')
    .argument('<name>', 'the name that people see')
    .option('--id <realm>', 'its id, which begins with rlm (default: one that is not used)')
    .option('--owner <user>', 'the user who owns it (default: nobody)')
    .option('--represents <text>', 'a note about what it is for')
    .addHelpText('after', example('satchel realm add Shopping --owner alice@example.com'))
    .action((name, { id, ...options }) =>
      tell(cli, 'realm.add', { ...options, name, realm: id }, describeRealm, realmForJson),
    )

  withDatabase(realm.command('update'))
    .description('change a realm; omitted options stay unchanged')
    .argument('<realm>', 'its id')
    .option('--name <name>', 'the name that people see')
    .option('--owner <user>', 'the user who owns it; an empty one: nobody')
    .option('--represents <text>', 'a note about what it is for')
    .addHelpText('after', example('satchel realm update rlmA --owner bob@example.com'))
    .action((id, options) =>
      tell(cli, 'realm.update', { ...options, realm: id }, describeRealm, realmForJson),
    )

  withDatabase(realm.command('remove'))
    .description('remove a realm with its objects, members and roles')
    .argument('<realm>', 'its id')
    .addHelpText('after', example('satchel realm remove rlmA'))
    .action((id, options) =>
      tell(
        cli,
        'realm.remove',
        { ...options, realm: id },
        () => `The realm ${oneLine(id)} is removed`,
      ),
    )
}

/** `satchel role list|put|remove`. */
export function addRoleCommands(program: Command, cli: Cli): void {
  const role = program.command('role').description('named sets of permissions for members')

  withDatabase(role.command('list'))
    .description('list the roles of a realm, or those that count in all realms')
    .option(...OF_ROLES)
    .option(...AFTER)
    .addHelpText('after', example('satchel role list --realm rlmA'))
    .action(async ({ after, ...options }) => {
      const { roles, cursor } = await carryOut(cli, 'role.list', { ...options, cursor: after })
      const rows = roles.map(({ name, displayName, permissions: held }) => [
        name,
        displayName ?? '',
        JSON.stringify(held),
      ])
      const text = table(['role', 'name', { mayCut: 'permissions' }], rows, width(cli))
      const shown = roles.length === 0 ? 'There are no roles' : `${text}${more(cursor)}`
      await print(cli, options, { data: roles, cursor }, shown)
    })

  withDatabase(role.command('put'))
    .description('add a role, or change it; omitted options stay unchanged')
    .argument('<name>', 'the name that memberships use')
    .option(...OF_ROLES)
    .option(...PERMISSIONS)
    .option('--display-name <text>', 'the name that people see')
    .option('--description <text>', 'what it is for')
    .addHelpText(
      'after',
      example(`satchel role put editor --realm rlmA --permissions '{"update":"*"}'`),
    )
    .action((name, options) =>
      tell(
        cli,
        'role.put',
        { ...options, name },
        ({ realm, permissions: held }) =>
          `The role ${oneLine(name)} of ${oneLine(realm)}: ${oneLine(JSON.stringify(held))}`,
      ),
    )

  withDatabase(role.command('remove'))
    .description('remove a role; members keep its name, which then gives them nothing')
    .argument('<name>', 'its name')
    .option(...OF_ROLES)
    .addHelpText('after', example('satchel role remove editor --realm rlmA'))
    .action((name, options) =>
      tell(
        cli,
        'role.remove',
        { ...options, name },
        ({ realm }) => `The role ${oneLine(name)} of ${oneLine(realm)} is removed`,
      ),
    )
}

/** `satchel member list|add|update|remove|resend`. */
export function addMemberCommands(program: Command, cli: Cli): void {
  const member = program.command('member').description('the members of realms, and invitations')

  withDatabase(member.command('list'))
    .description('list the members of a realm, or the realms of a user')
    .option('--realm <id>', 'the members of this realm')
    .option('--user <id>', 'the realms of this user')
    .option(...AFTER)
    .addHelpText(
      'after',
      example('satchel member list --realm rlmA', 'satchel member list --user bob@example.com'),
    )
    .action(async ({ after, ...options }) => {
      const { members, cursor } = await carryOut(cli, 'member.list', { ...options, cursor: after })
      const rows = members.map((each) => [
        each.id,
        each.realmId,
        each.userId ?? each.email ?? '',
        each.isOwner ? 'owner' : each.state,
        each.roles.join(', '),
        JSON.stringify(each.permissions),
      ])
      const headings = ['member', 'realm', 'person', 'state', 'roles', { mayCut: 'permissions' }]
      const text = table(headings, rows, width(cli))
      const shown = members.length === 0 ? 'There are no members' : `${text}${more(cursor)}`
      await print(cli, options, { data: members, cursor }, shown)
    })

  withDatabase(member.command('add'))
    .description('add a user to a realm, or invite a person with an e-mail address')
    .argument('<realm>', 'the id of the realm')
    .option('--user <id>', 'a user, who is a member at once')
    .option('--email <address>', 'a person to invite')
    .option('--silent', 'send no mail for the invitation')
    .option('--name <name>', 'the name that other members see')
    .option('--roles <names>', 'the roles, separated by commas', list)
    .option(...PERMISSIONS)
    .addHelpText(
      'after',
      example(
        'satchel member add rlmA --user bob@example.com --roles editor',
        `satchel member add rlmA --email carl@example.com --permissions '{"manage":"*"}'`,
      ),
    )
    .action((realm, { silent, ...options }) =>
      tell(cli, 'member.add', { ...options, realm, isSilent: silent }, describeMember),
    )

  withDatabase(member.command('update'))
    .description('change a member; omitted options stay unchanged')
    .argument('<member>', 'the key of the member, as satchel member list shows it')
    .option('--name <name>', 'the name that other members see')
    .option('--roles <names>', 'the roles, separated by commas; an empty text: none', list)
    .option(...PERMISSIONS)
    .addHelpText('after', example('satchel member update mbrB --roles editor,reader'))
    .action((key, options) =>
      tell(cli, 'member.update', { ...options, member: key }, describeMember),
    )

  withDatabase(member.command('remove'))
    .description('remove a member, or withdraw an invitation')
    .argument('<member>', 'the key of the member, as satchel member list shows it')
    .addHelpText('after', example('satchel member remove mbrB'))
    .action((key, options) =>
      tell(
        cli,
        'member.remove',
        { ...options, member: key },
        () => `The member ${oneLine(key)} is removed`,
      ),
    )

  withDatabase(member.command('resend'))
    .description('send the mail of an invitation again')
    .argument('<member>', 'the key of the member, as satchel member list shows it')
    .addHelpText('after', example('satchel member resend mbrC'))
    .action((key, options) =>
      tell(
        cli,
        'member.resend',
        { ...options, member: key },
        () => `The invitation ${oneLine(key)} is sent again`,
      ),
    )
}

function describeRealm({ realm, name, owner, represents, updated }: OutputOf<'realm.show'>) {
  const lines = [
    ['Realm', realm],
    ['Name', name ?? ''],
    ['Owner', owner ?? 'nobody'],
    ['Represents', represents ?? ''],
    ['Updated', isoTime(updated)],
  ] as const
  return lines.map(([title, value]) => `${title.padEnd(16)}${oneLine(value)}`.trimEnd()).join('\n')
}

function realmForJson(shown: OutputOf<'realm.show'>): object {
  return { ...shown, updated: isoTime(shown.updated) }
}

function describeMember({ id, realmId, userId, email, state }: OutputOf<'member.add'>): string {
  const person = oneLine(userId ?? email ?? id)
  return `${person} in ${oneLine(realmId)}: ${state} (member ${oneLine(id)})`
}

function width({ terminal }: Cli): number | undefined {
  return terminal.outputWidth
}

function more(cursor: string | null): string {
  return cursor === null ? '' : `\nThere are more: add --after '${oneLine(cursor)}'`
}

/** Throws `InvalidArgumentError` for anything but an object as JSON. */
function permissions(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    if (isRecord(value)) return value
  } catch {
    // Said below.
  }
  throw new InvalidArgumentError('it must be an object as JSON, such as {"manage":"*"}.')
}
