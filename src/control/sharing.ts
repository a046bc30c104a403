import { READ, WRITE } from '../domain/access/door'
import { showObject } from '../domain/object/browse'
import { upsertObjects } from '../domain/object/upsert'
import { complementInvitation } from '../domain/rows/invitation'
import { MEMBER_RULES } from '../domain/rows/member-rows'
import type { Membership } from '../domain/store/memberships'
import type { ReadTx } from '../domain/store/store'
import { quoted, SatchelError } from '../domain/value/error'
import { foldUserId } from '../domain/value/user-id'
import { isAbsent } from '../domain/value/value'
import { nameOfRealm } from '../domain/rows/invitation'
import { described, optional, text } from './fields'
import { onDatabase } from './operation'

/** The most memberships of a page. */
const PAGE = 200

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
        cursor: described(optional(text), 'The `cursor` of the page before, for a realm.'),
      },
    },
    (_host, { realm, user, cursor }, { read }) =>
      read((tx) => {
        if ((realm === null) === (user === null)) {
          throw new SatchelError('INVALID_REQUEST', 'Give a realm or a user')
        }
        const found =
          realm === null
            ? tx.memberships.ofUser(foldUserId(user ?? ''), PAGE)
            : tx.memberships.ofRealm(requireRealm(tx, realm), cursor ?? '', PAGE)
        const isFull = realm !== null && found.length === PAGE
        return {
          members: found.map((membership) => describeMember(tx, membership)),
          cursor: isFull ? (found.at(-1)?.source ?? null) : null,
        }
      }),
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
      input: { member: described(text, 'The key of a row of `members`.') },
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

function describeMember(tx: ReadTx, membership: Membership) {
  const { source, realm, userId, email, accepted, rejected, permissions, roles } = membership
  const realmId = tx.realms.findByRef(realm)?.id ?? ''
  return {
    id: source.slice(source.indexOf(':') + 1),
    isOwner: source.startsWith('realms:'),
    realmId,
    realmName: nameOfRealm(tx, realmId) || null,
    userId,
    email,
    state: accepted ? 'accepted' : rejected ? 'rejected' : 'open',
    permissions,
    roles,
  }
}

/** Throws `UNKNOWN_REALM`. */
function requireRealm(tx: ReadTx, id: string) {
  const realm = tx.realms.find(id)
  if (realm !== undefined) return realm.ref
  throw new SatchelError('UNKNOWN_REALM', `There is no realm ${quoted(id)}`)
}
