import type { InferSelectModel } from 'drizzle-orm'
import { fact, note } from './memo'
import type { formerMemberships, memberships } from './schema'
import { isSound, sumOf } from './summed'
import type { Connection } from './connection'
import type { TxContext, WriteContext } from './context'
import type { Unit } from './unit'
import type { PermissionSet } from '../domain/value/permission'
import type { RealmRef } from '../domain/store/realms'
import { hashSecret } from '../domain/value/secret'
import type {
  Membership,
  MembershipReader,
  MembershipWriter,
  Rights,
} from '../domain/store/memberships'

/** Before all memberships of a user. */
const FIRST = { realm: 0, source: '' }

export function membershipReader(context: TxContext): MembershipReader {
  const list = (rest: string, ...values: readonly (string | number)[]) => {
    context.unit?.owed.payRows(TABLE)
    return context.connection
      .prepare<MembershipRow>(`${SELECT} ${rest}`)
      .all(...values)
      .map(membershipIn)
  }
  const noteSubject = (userId: string | null, email: string | null) => {
    if (userId !== null) note(context, 'subject', userId)
    if (email !== null) note(context, 'subject', email)
  }
  return {
    ofUser(userId, limit, { realm, source } = FIRST) {
      note(context, 'subject', userId)
      return list(
        'WHERE user_id = ? AND (realm, source) > (?, ?) ORDER BY realm, source LIMIT ?',
        userId,
        realm,
        source,
        limit,
      )
    },
    ofSubject(userId, email) {
      noteSubject(userId, email)
      const own =
        userId === null ? [] : list('WHERE user_id = ? AND accepted = 0 ORDER BY realm', userId)
      const addressed = email === null ? [] : list('WHERE email = ? AND user_id IS NULL', email)
      return {
        accepted: userId === null ? [] : acceptedOf(context, userId),
        open: [...own, ...addressed],
      }
    },
    ofSubjectIn(userId, email, realm) {
      noteSubject(userId, email)
      const own = userId === null ? [] : list('WHERE user_id = ? AND realm = ?', userId, realm)
      const addressed =
        email === null
          ? []
          : list('WHERE email = ? AND realm = ? AND user_id IS NULL', email, realm)
      return [...bySource(own), ...bySource(addressed)]
    },
    ofRealm(realm, after, limit, onlyAccepted = false) {
      note(context, 'members', realm)
      const which = onlyAccepted ? 'AND accepted = 1 ' : ''
      return list(
        `WHERE realm = ? AND source > ? ${which}ORDER BY source LIMIT ?`,
        realm,
        after,
        limit,
      )
    },
    nextRights(realm, accepted, after) {
      note(context, 'members', realm)
      context.unit?.owed.payRows(TABLE)
      const [permissions, roles] = after === '' ? ['', ''] : (JSON.parse(after) as string[])
      const row = context.connection
        .prepare<{ permissions: string; roles: string }>(
          'SELECT permissions, roles FROM memberships INDEXED BY memberships_by_rights WHERE realm = ?1 AND accepted = ?2 AND (permissions, roles) > (?3, ?4) ORDER BY permissions, roles LIMIT 1',
        )
        .get(realm, accepted ? 1 : 0, permissions ?? '', roles ?? '')
      return row === null
        ? undefined
        : {
            permissions: JSON.parse(row.permissions) as PermissionSet,
            roles: JSON.parse(row.roles) as string[],
            cursor: JSON.stringify([row.permissions, row.roles]),
          }
    },
    hadMemberRow(userId, email, key) {
      const rows = context.connection.prepare<typeof formerMemberships.$inferSelect>(
        'SELECT subject, key, realm, revision, at, sum FROM former_memberships WHERE subject = ? AND key = ?',
      )
      return (email === null ? [userId] : [userId, email]).some((subject) => {
        note(context, 'subject', subject)
        const row = rows.get(hashSecret(subject), key)
        // A client keeps its copy of a row of which nothing sound is known.
        return row !== null && isSound('former_memberships', row)
      })
    },
  }
}

/** SQLite prepares for sorting in each run of a statement with an order, which takes longer than these few rows. */
function bySource(rows: Membership[]): Membership[] {
  return rows.length < 2
    ? rows
    : rows.toSorted((one, other) => (one.source < other.source ? -1 : 1))
}

/** The membership that is derived from a row. */
export function membershipOfSource(
  { connection }: TxContext,
  source: string,
): Membership | undefined {
  const row = connection.prepare<MembershipRow>(SELECT_ROW).get(source)
  return row === null ? undefined : membershipIn(row)
}

/** A user may be in thousands of realms, with few different rights: each text is parsed once. */
function acceptedOf(context: TxContext, userId: string): Rights[] {
  context.unit?.owed.payRows(TABLE)
  const rows = context.connection
    .prepare(
      'SELECT realm, permissions, roles FROM memberships INDEXED BY memberships_rights_of_user WHERE user_id = ? AND accepted = 1 ORDER BY realm',
    )
    .values(userId) as [number, string, string][]
  const parsed = new Map<string, unknown>()
  const parse = (text: string): unknown => {
    const known = parsed.get(text)
    if (known !== undefined) return known
    const value = JSON.parse(text) as unknown
    parsed.set(text, value)
    return value
  }
  return rows.map(([realm, permissions, roles]) => ({
    realm,
    permissions: parse(permissions) as PermissionSet,
    roles: parse(roles) as string[],
  }))
}

export function membershipWriter(context: WriteContext): MembershipWriter {
  return {
    ...membershipReader(context),
    put(membership) {
      context.unit?.owed.payRows(TABLE)
      const { prepare } = context.connection
      const row = rowOf(membership)
      const before = prepare<MembershipRow>(SELECT_ROW).get(membership.source)
      if (before !== null && ROW.every((name) => before[name] === row[name])) return
      touch(context, before === null ? [membership] : [subjectIn(before), membership])
      if (before !== null && subjectOf(subjectIn(before)) !== subjectOf(membership)) {
        keepFormer(context, membership.source, subjectIn(before))
      }
      prepare(PUT_ROW).run(...ROW.map((name) => row[name]), context.unit.nextRevision())
    },
    removeOfRealm(realm) {
      const { connection, unit } = context
      unit.owed.removeRows(TABLE, (limit) => removeSome(connection, unit, realm, limit))
    },
    remove(source) {
      const removed = context.connection
        .prepare<MembershipRow>(`DELETE FROM memberships WHERE source = ? RETURNING ${COLUMNS}`)
        .all(source)
        .map(subjectIn)
      touch(context, removed)
      for (const subject of removed) keepFormer(context, source, subject)
    },
    forgetFormer(subject, limit) {
      const hash = hashSecret(subject)
      return context.connection
        .prepare(
          'DELETE FROM former_memberships WHERE subject = ?1 AND key IN (SELECT key FROM former_memberships WHERE subject = ?1 LIMIT ?2)',
        )
        .run(hash, limit).changes
    },
  }
}

function removeSome(connection: Connection, unit: Unit, realm: RealmRef, limit: number): number {
  const removed = connection
    .prepare<MembershipRow>(
      `DELETE FROM memberships WHERE source IN (SELECT source FROM memberships INDEXED BY memberships_of_realm WHERE realm = ? LIMIT ?) RETURNING ${COLUMNS}`,
    )
    .all(realm, limit)
  touch({ unit }, removed.map(subjectIn))
  return removed.length
}

const TABLE = 'memberships'

/** A row as SQLite has it. No statement is built anew: they run in every request and for thousands of rows. */
type MembershipRow = Omit<InferSelectModel<typeof memberships, { dbColumnNames: true }>, 'since'>

const ROW = [
  'source',
  'realm',
  'user_id',
  'email',
  'accepted',
  'rejected',
  'permissions',
  'roles',
] as const

const COLUMNS = ROW.join(', ')
const SELECT = `SELECT ${COLUMNS} FROM memberships`
const SELECT_ROW = `${SELECT} WHERE source = ?`
/** A membership goes on while the same user stays accepted in the same realm. */
const SINCE =
  'since = iif(user_id IS excluded.user_id AND realm = excluded.realm AND accepted = excluded.accepted, since, excluded.since)'
const PUT_ROW = `INSERT INTO memberships (${COLUMNS}, since) VALUES (${ROW.map(() => '?').join(', ')}, ?) ON CONFLICT (source) DO UPDATE SET ${SINCE}, ${ROW.map((name) => `${name} = excluded.${name}`).join(', ')}`

function rowOf({ source, realm, userId, email, ...rest }: Membership): MembershipRow {
  return {
    source,
    realm,
    user_id: userId,
    email,
    accepted: rest.accepted ? 1 : 0,
    rejected: rest.rejected ? 1 : 0,
    permissions: JSON.stringify(rest.permissions),
    roles: JSON.stringify(rest.roles),
  }
}

function membershipIn({ user_id: userId, ...row }: MembershipRow): Membership {
  return {
    source: row.source,
    realm: row.realm,
    userId,
    email: row.email,
    accepted: row.accepted !== 0,
    rejected: row.rejected !== 0,
    permissions: JSON.parse(row.permissions) as PermissionSet,
    roles: JSON.parse(row.roles) as string[],
  }
}

function subjectIn({ realm, user_id: userId, email }: MembershipRow): Subject {
  return { realm, userId, email }
}

/** The user or address whose rights a membership gives. */
type Subject = Pick<Membership, 'realm' | 'userId' | 'email'>

function subjectOf({ userId, email }: Subject): string | null {
  return userId ?? email
}

function keepFormer(context: WriteContext, source: string, former: Subject): void {
  const subject = subjectOf(former)
  if (subject === null || !source.startsWith(MEMBERS)) return
  const { connection, unit } = context
  const key = source.slice(MEMBERS.length)
  const row = {
    subject: hashSecret(subject),
    key,
    realm: former.realm,
    revision: unit.revision(),
    at: unit.clock.now(),
  }
  connection
    .prepare(
      'INSERT OR REPLACE INTO former_memberships (subject, key, realm, revision, at, sum) VALUES (?, ?, ?, ?, ?, ?)',
    )
    .run(row.subject, row.key, row.realm, row.revision, row.at, sumOf('former_memberships', row))
}

const MEMBERS = 'members:'

/** Announces the users and addresses whose rights these memberships gave or give. */
function touch({ unit }: Pick<WriteContext, 'unit'>, rows: readonly Subject[]): void {
  if (rows.length === 0) return
  unit.touchSubjects(rows.flatMap((row) => subjectOf(row) ?? []))
  unit.touchPolicy([...new Set(rows.map(({ realm }) => fact('members', realm)))])
}
