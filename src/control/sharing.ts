import { READ, WRITE } from '../domain/access/door'
import { showObject } from '../domain/object/browse'
import { requireTable } from '../domain/object/tables'
import { upsertObjects } from '../domain/object/upsert'
import { complementInvitation, nameOfRealm } from '../domain/rows/invitation'
import { MEMBER_RULES, membershipOf } from '../domain/rows/member-rows'
import type { Membership, MembershipPlace } from '../domain/store/memberships'
import type { RealmRef } from '../domain/store/realms'
import type { ReadTx } from '../domain/store/store'
import { requireEmail } from '../domain/value/email'
import { quoted, SatchelError } from '../domain/value/error'
import { foldUserId } from '../domain/value/user-id'
import { isAbsent, parseStored, type WireObject } from '../domain/value/value'
import type { OpenDatabase } from '../host/host'
import { described, flag, optional, text, texts } from './fields'
import { deleteObject, putObject } from './objects'
import { onDatabase, type OperationContext } from './operation'
import { given, IF_REVISION, PERMISSIONS, requireRealm, textIn } from './realms'

/** The most memberships of a page. */
const PAGE = 200

/** The cursor after a membership of a user: `17 members:mbr0a3`. */
function cursorAt({ realm, source }: MembershipPlace): string {
  return `${realm} ${source}`
}

/** Throws `INVALID_REQUEST`. */
function placeIn(cursor: string | null): MembershipPlace | undefined {
  if (cursor === null) return undefined
  const [, realm, source = ''] = /^(\d{1,15}) (.*)$/s.exec(cursor) ?? []
  if (realm !== undefined) return { realm: Number(realm), source }
  throw new SatchelError('INVALID_REQUEST', 'Invalid cursor: use the one of the previous page')
}

const MEMBER = { member: described(text, 'The key of a row of `members`.') }

export const sharingOperations = {
  /**
   * The memberships of a realm, or those of a user: rows of `members`, and of `realms` for their owners. `cursor` is null
   * at the end. Throws `INVALID_REQUEST` unless one of both is given, and `UNKNOWN_REALM`.
   */
  'member.list': onDatabase(
    {
      scopes: READ,
      effect: 'read',
      summary: 'List the members of a realm, or the realms of a user',
      input: {
        realm: described(optional(text), 'The id of a realm.'),
        user: described(optional(text), 'A user id.'),
        cursor: described(optional(text), 'The `cursor` of the page before.'),
      },
    },
    (_host, { realm, user, cursor }, { read }) =>
      read((tx) => {
        if ((realm === null) === (user === null)) {
          throw new SatchelError('INVALID_REQUEST', 'Give a realm or a user')
        }
        const found =
          realm === null
            ? tx.memberships.ofUser(foldUserId(user ?? ''), PAGE, placeIn(cursor))
            : tx.memberships.ofRealm(requireRealm(tx, realm), cursor ?? '', PAGE)
        const last = found.length === PAGE ? found.at(-1) : undefined
        return {
          members: found.map((membership) => describeMember(tx, membership)),
          cursor: last === undefined ? null : realm === null ? cursorAt(last) : last.source,
        }
      }),
  ),

  /**
   * Adds a user, who is a member at once, or invites the person with an address: by a mail, unless `isSilent`. Throws
   * `INVALID_REQUEST` unless one of both is given, `UNKNOWN_REALM`, `UNKNOWN_USER`, `CONFLICT` for a person who is there
   * already, and what `object.put` throws.
   */
  'member.add': onDatabase(
    {
      scopes: WRITE,
      effect: 'write',
      summary: 'Add a member to a realm, or invite a person',
      input: {
        realm: described(text, 'The id of a realm.'),
        user: described(optional(text), 'The id of a user, who is a member at once.'),
        email: described(optional(text), 'The address of a person to invite.'),
        isSilent: described(flag, 'No mail is sent for the invitation.'),
        name: described(optional(text), 'The name that other members see.'),
        roles: described(optional(texts), 'The names of roles.'),
        permissions: PERMISSIONS,
      },
    },
    async (opened, { realm, user, email, isSilent, name, roles, permissions }, context) => {
      if ((user === null) === (email === null)) {
        throw new SatchelError('INVALID_REQUEST', 'Give a user, or the address of a person')
      }
      const userId = user === null ? null : foldUserId(user)
      const address = email === null ? null : requireEmail(email)
      await context.read((tx) => {
        const ref = requireRealm(tx, realm)
        if (userId !== null) requireUser(tx, userId)
        requireNotThere(tx, ref, userId, address)
      })
      const accepted = { $t: 'Date', v: new Date(context.now).toISOString() }
      const person = userId === null ? { email: address, invite: !isSilent } : { userId, accepted }
      const value = { realmId: realm, ...person, ...given({ name, roles, permissions }) }
      const put = { table: 'members', key: null, value, ifRevision: null }
      return await showMember(opened, put, context)
    },
  ),

  /** Changes what is given. Throws `UNKNOWN_OBJECT`, `CONFLICT` when it is changed meanwhile, and what `object.put` throws. */
  'member.update': onDatabase(
    {
      scopes: WRITE,
      effect: 'write',
      summary: 'Change the roles or the permissions of a member',
      input: {
        ...MEMBER,
        name: described(optional(text), 'The name that other members see.'),
        roles: described(optional(texts), 'The names of roles.'),
        permissions: PERMISSIONS,
        ifRevision: IF_REVISION,
      },
    },
    async (opened, { member, ifRevision, ...changes }, context) => {
      const stored = await context.read((tx) => showObject(tx, 'members', member))
      const value = { ...stored.value, ...given(changes) }
      const put = {
        table: 'members',
        key: member,
        value,
        ifRevision: ifRevision ?? stored.revision,
      }
      return await showMember(opened, put, context)
    },
  ),

  /** Throws `UNKNOWN_OBJECT`. */
  'member.remove': onDatabase(
    {
      scopes: WRITE,
      effect: 'destroy',
      summary: 'Remove a member, or withdraw an invitation',
      input: MEMBER,
    },
    async (opened, { member }, context) => {
      await deleteObject(opened, { table: 'members', key: member }, context)
      return { member }
    },
  ),

  /**
   * Sends the mail of an invitation once more, by the limits of invitations. `member` is the key of the row. Throws
   * `CONFLICT` for a person who has answered, and what `object.put` throws for a row that asks for a mail.
   */
  'member.resend': onDatabase(
    {
      scopes: WRITE,
      effect: 'write',
      summary: 'Send the mail of an invitation again',
      input: MEMBER,
    },
    async ({ database, invitations }, { member }, { actor, now, read, record }) => {
      const { value } = await read((tx) => showObject(tx, 'members', member))
      const hasAnswered = ['userId', 'accepted', 'rejected'].some((name) => !isAbsent(value[name]))
      if (hasAnswered) {
        throw new SatchelError('CONFLICT', 'The invitation was answered: no mail is sent for it')
      }
      const rules = {
        ...MEMBER_RULES,
        // As for a new row, whose mail was not sent yet.
        complement(writing, placement) {
          const fresh = { ...placement, previous: undefined }
          const { draft } = complementInvitation(writing, fresh, (tx, facts) =>
            invitations.send(tx, facts, null),
          )
          return { ...placement, draft }
        },
      } satisfies typeof MEMBER_RULES
      await upsertObjects(database, {
        actor,
        now,
        view: 'all',
        table: 'members',
        objects: [{ ...value, invite: true }],
        isArray: false,
        rulesByTable: new Map([['members', rules]]),
        before: (tx) => record(tx),
      })
      return { member }
    },
  ),
}

/** Writes the row of a member, and shows it. */
async function showMember(
  opened: OpenDatabase,
  put: Parameters<typeof putObject>[1],
  context: OperationContext,
) {
  const { key, realmId, value } = await putObject(opened, put, context)
  return await context.read((tx) =>
    describeMember(tx, membershipOf(value, `${ROW}${key}`, requireRealm(tx, realmId))),
  )
}

/** The beginning of the source of a membership that is a row of `members`. */
const ROW = 'members:'

function describeMember(tx: ReadTx, membership: Membership) {
  const { source, realm, userId, email, permissions, roles } = membership
  const realmId = tx.realms.findByRef(realm)?.id ?? ''
  const id = source.slice(source.indexOf(':') + 1)
  const row = source.startsWith(ROW) ? tx.objects.find(requireTable(tx, 'members'), id) : undefined
  const value = row === undefined ? {} : parseStored(row.value)
  return {
    id,
    isOwner: source.startsWith('realms:'),
    realmId,
    realmName: nameOfRealm(tx, realmId) || null,
    userId,
    email,
    name: textIn(value, 'name'),
    state: stateOf(membership, value),
    permissions,
    roles,
    revision: row?.revision ?? null,
  }
}

function stateOf({ accepted, rejected }: Membership, { invite, invitedDate }: WireObject) {
  if (accepted) return 'accepted'
  if (rejected) return 'rejected'
  return invite === true || !isAbsent(invitedDate) ? 'invited' : 'open'
}

/** Throws `UNKNOWN_USER`. */
function requireUser(tx: ReadTx, id: string): void {
  if (tx.users.find(id) !== undefined) return
  throw new SatchelError(
    'UNKNOWN_USER',
    `There is no user ${quoted(id)}: invite a person who has not logged in by their address`,
  )
}

/** Throws `CONFLICT` for a member, and for a person who is invited. An address is the id of most users who have it. */
function requireNotThere(
  tx: ReadTx,
  realm: RealmRef,
  userId: string | null,
  email: string | null,
): void {
  const found = tx.memberships.ofSubjectIn(userId ?? email, email, realm)
  const [row] = found.filter(({ source, rejected }) => source.startsWith(ROW) && !rejected)
  if (row === undefined) return
  const key = quoted(row.source.slice(ROW.length))
  throw new SatchelError(
    'CONFLICT',
    row.accepted
      ? `That user is a member already: change the member ${key}`
      : `That person is invited already: send the invitation ${key} again, or remove it`,
  )
}
