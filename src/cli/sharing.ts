import type { Command } from '@commander-js/extra-typings'
import type { OutputOf } from '../control/operations'
import { type Cli, items, jsonObject, tell, withDatabase } from './command'
import { isoTime } from './output'
import { list, oneLine, properties } from './table'

const AFTER = ['--after <cursor>', 'continue after the previous list'] as const
const OF_ROLES = [
  '--realm <id>',
  'the realm of the role (default: roles that count in all realms)',
] as const
const PERMISSIONS = [
  '--permissions <json>',
  'what it allows, such as {"add":["todoItems"],"update":"*"} or {"manage":"*"}',
  jsonObject('an object as JSON, such as {"manage":"*"}'),
] as const

/** `satchel realm list|show|add|update|remove`. */
export function addRealmCommands(program: Command, cli: Cli): void {
  const realm = program.command('realm').description('the realms of a database')

  withDatabase(realm.command('list'), 'satchel realm list --search shopping')
    .description('list the realms, the newest first')
    .option('--search <text>', 'only realms with this text in their id or their values')
    .option(...AFTER)
    .action(({ after, ...options }) =>
      tell(cli, 'realm.list', { ...options, cursor: after }, tableOfRealms, (page) => {
        return { data: page.realms.map(realmForJson), cursor: page.cursor }
      }),
    )

  withDatabase(realm.command('show'), 'satchel realm show rlmA')
    .description('show a realm')
    .argument('<realm>', 'its id')
    .action((id, options) =>
      tell(cli, 'realm.show', { ...options, realm: id }, describeRealm, realmForJson),
    )

  withDatabase(realm.command('add'), 'satchel realm add Shopping --owner alice@example.com')
    .description('add a realm')
    .argument('<name>', 'the name that people see')
    .option('--id <realm>', 'its id, which begins with rlm (default: one that is not used)')
    .option('--owner <user>', 'the user who owns it (default: nobody)')
    .option('--represents <text>', 'a note about what it is for')
    .action((name, { id, ...options }) =>
      tell(cli, 'realm.add', { ...options, name, realm: id }, describeRealm, realmForJson),
    )

  withDatabase(realm.command('update'), 'satchel realm update rlmA --owner bob@example.com')
    .description('change a realm; omitted options stay unchanged')
    .argument('<realm>', 'its id')
    .option('--name <name>', 'the name that people see')
    .option('--owner <user>', 'the user who owns it; an empty one: nobody')
    .option('--represents <text>', 'a note about what it is for')
    .action((id, options) =>
      tell(cli, 'realm.update', { ...options, realm: id }, describeRealm, realmForJson),
    )

  withDatabase(realm.command('remove'), 'satchel realm remove rlmA')
    .description('remove a realm with its objects, members and roles')
    .argument('<realm>', 'its id')
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

  withDatabase(role.command('list'), 'satchel role list --realm rlmA')
    .description('list the roles of a realm, or those that count in all realms')
    .option(...OF_ROLES)
    .option(...AFTER)
    .action(({ after, ...options }) =>
      tell(cli, 'role.list', { ...options, cursor: after }, tableOfRoles, ({ roles, cursor }) => {
        return { data: roles, cursor }
      }),
    )

  withDatabase(
    role.command('put'),
    `satchel role put editor --realm rlmA --permissions '{"update":"*"}'`,
  )
    .description('add a role, or change it; omitted options stay unchanged')
    .argument('<name>', 'the name that memberships use')
    .option(...OF_ROLES)
    .option(...PERMISSIONS)
    .option('--display-name <text>', 'the name that people see')
    .option('--description <text>', 'what it is for')
    .action((name, options) =>
      tell(
        cli,
        'role.put',
        { ...options, name },
        ({ realm, permissions: held }) =>
          `The role ${oneLine(name)} of ${oneLine(realm)}: ${oneLine(JSON.stringify(held))}`,
      ),
    )

  withDatabase(role.command('remove'), 'satchel role remove editor --realm rlmA')
    .description('remove a role; members keep its name, which then gives them nothing')
    .argument('<name>', 'its name')
    .option(...OF_ROLES)
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

  withDatabase(
    member.command('list'),
    'satchel member list --realm rlmA',
    'satchel member list --user bob@example.com',
  )
    .description('list the members of a realm, or the realms of a user')
    .option('--realm <id>', 'the members of this realm')
    .option('--user <id>', 'the realms of this user')
    .option(...AFTER)
    .action(({ after, ...options }) =>
      tell(cli, 'member.list', { ...options, cursor: after }, tableOfMembers, (page) => {
        return { data: page.members, cursor: page.cursor }
      }),
    )

  withDatabase(
    member.command('add'),
    'satchel member add rlmA --user bob@example.com --roles editor',
    `satchel member add rlmA --email carl@example.com --permissions '{"manage":"*"}'`,
  )
    .description('add a user to a realm, or invite a person with an e-mail address')
    .argument('<realm>', 'the id of the realm')
    .option('--user <id>', 'a user, who is a member at once')
    .option('--email <address>', 'a person to invite')
    .option('--silent', 'send no mail for the invitation')
    .option('--name <name>', 'the name that other members see')
    .option('--roles <names>', 'the roles, separated by commas', items)
    .option(...PERMISSIONS)
    .action((realm, { silent, ...options }) =>
      tell(cli, 'member.add', { ...options, realm, isSilent: silent }, describeMember),
    )

  withDatabase(member.command('update'), 'satchel member update mbrB --roles editor,reader')
    .description('change a member; omitted options stay unchanged')
    .argument('<member>', 'the key of the member, as satchel member list shows it')
    .option('--name <name>', 'the name that other members see')
    .option('--roles <names>', 'the roles, separated by commas; an empty text: none', items)
    .option(...PERMISSIONS)
    .action((key, options) =>
      tell(cli, 'member.update', { ...options, member: key }, describeMember),
    )

  withDatabase(member.command('remove'), 'satchel member remove mbrB')
    .description('remove a member, or withdraw an invitation')
    .argument('<member>', 'the key of the member, as satchel member list shows it')
    .action((key, options) =>
      tell(
        cli,
        'member.remove',
        { ...options, member: key },
        () => `The member ${oneLine(key)} is removed`,
      ),
    )

  withDatabase(member.command('resend'), 'satchel member resend mbrC')
    .description('send the mail of an invitation again')
    .argument('<member>', 'the key of the member, as satchel member list shows it')
    .action((key, options) =>
      tell(
        cli,
        'member.resend',
        { ...options, member: key },
        () => `The invitation ${oneLine(key)} is sent again`,
      ),
    )
}

function tableOfRealms({ realms, cursor }: OutputOf<'realm.list'>, width?: number): string {
  const rows = realms.map(({ realm, name, owner, updated }) => {
    return [realm, owner ?? '', isoTime(updated), name ?? '']
  })
  const headings = ['realm', 'owner', 'updated', { mayCut: 'name' }]
  return list(headings, rows, { none: 'There are no realms', cursor, width })
}

function tableOfRoles({ roles, cursor }: OutputOf<'role.list'>, width?: number): string {
  const rows = roles.map(({ name, displayName, permissions: held }) => {
    return [name, displayName ?? '', JSON.stringify(held)]
  })
  const headings = ['role', 'name', { mayCut: 'permissions' }]
  return list(headings, rows, { none: 'There are no roles', cursor, width })
}

function tableOfMembers({ members, cursor }: OutputOf<'member.list'>, width?: number): string {
  const rows = members.map((each) => [
    each.id,
    each.realmId,
    each.userId ?? each.email ?? '',
    each.isOwner ? 'owner' : each.state,
    each.roles.join(', '),
    JSON.stringify(each.permissions),
  ])
  const headings = ['member', 'realm', 'person', 'state', 'roles', { mayCut: 'permissions' }]
  return list(headings, rows, { none: 'There are no members', cursor, width })
}

function describeRealm({ realm, name, owner, represents, updated }: OutputOf<'realm.show'>) {
  return properties([
    ['Realm', realm],
    ['Name', name ?? ''],
    ['Owner', owner ?? 'nobody'],
    ['Represents', represents ?? ''],
    ['Updated', isoTime(updated)],
  ])
}

function realmForJson(shown: OutputOf<'realm.list'>['realms'][number]): object {
  return { ...shown, updated: isoTime(shown.updated) }
}

function describeMember({ id, realmId, userId, email, state }: OutputOf<'member.add'>): string {
  const person = oneLine(userId ?? email ?? id)
  return `${person} in ${oneLine(realmId)}: ${state} (member ${oneLine(id)})`
}
