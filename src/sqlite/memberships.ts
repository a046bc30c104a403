import { and, eq, gt, isNull, type SQL } from 'drizzle-orm'
import { fact, note } from './memo'
import { memberships } from './schema'
import type { TxContext, WriteContext } from './context'
import type { PermissionSet } from '../domain/value/permission'
import type {
  Membership,
  MembershipReader,
  MembershipWriter,
  Rights,
} from '../domain/store/memberships'

export function membershipReader(context: TxContext): MembershipReader {
  const select = () => context.connection.orm.select().from(memberships)
  return {
    ofUser(userId, limit = -1) {
      note(context, 'subject', userId)
      return select()
        .where(eq(memberships.userId, userId))
        .orderBy(memberships.realm, memberships.source)
        .limit(limit)
        .all()
    },
    ofUserIn(userId, realm) {
      note(context, 'subject', userId)
      return select()
        .where(and(eq(memberships.userId, userId), eq(memberships.realm, realm)))
        .orderBy(memberships.source)
        .all()
    },
    acceptedOf(userId) {
      note(context, 'subject', userId)
      return acceptedOf(context, userId)
    },
    openOf(userId) {
      note(context, 'subject', userId)
      return select()
        .where(and(eq(memberships.userId, userId), eq(memberships.accepted, false)))
        .orderBy(memberships.realm)
        .all()
    },
    ofEmail(email) {
      note(context, 'subject', email)
      return select()
        .where(and(eq(memberships.email, email), isNull(memberships.userId)))
        .all()
    },
    ofRealm(realm, limit = -1) {
      note(context, 'members', realm)
      return select()
        .where(eq(memberships.realm, realm))
        .orderBy(memberships.source)
        .limit(limit)
        .all()
    },
    nextRights(realm, accepted, after) {
      note(context, 'members', realm)
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
            place: JSON.stringify([row.permissions, row.roles]),
          }
    },
    membersOf(realm, after, limit) {
      note(context, 'members', realm)
      return select()
        .where(
          and(
            eq(memberships.realm, realm),
            gt(memberships.source, after),
            eq(memberships.accepted, true),
          ),
        )
        .orderBy(memberships.source)
        .limit(limit)
        .all()
    },
  }
}

/** The membership that is derived from a row. */
export function membershipOfSource(
  { connection }: TxContext,
  source: string,
): Membership | undefined {
  return connection.orm.select().from(memberships).where(eq(memberships.source, source)).get()
}

/** A user may be in thousands of realms, with few different rights: each text is parsed once. */
function acceptedOf({ connection }: TxContext, userId: string): Rights[] {
  const rows = connection
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
  const remove = (which: SQL) =>
    touch(context, context.connection.orm.delete(memberships).where(which).returning().all())
  return {
    ...membershipReader(context),
    put(membership) {
      const { prepare } = context.connection
      const row = rowOf(membership)
      const before = prepare<MembershipRow>(SELECT_ROW).get(membership.source)
      if (before !== null && ROW.every((name) => before[name] === row[name])) return
      touch(context, before === null ? [membership] : [subjectIn(before), membership])
      prepare(PUT_ROW).run(...ROW.map((name) => row[name]))
    },
    removeOfRealm: (realm) => remove(eq(memberships.realm, realm)),
    remove: (source) => remove(eq(memberships.source, source)),
  }
}

/** A row as SQLite has it. Rows are written by the thousand, without building their statement anew. */
interface MembershipRow {
  readonly source: string
  readonly realm: number
  readonly user_id: string | null
  readonly email: string | null
  readonly accepted: number
  readonly rejected: number
  readonly permissions: string
  readonly roles: string
}

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

const SELECT_ROW = `SELECT ${ROW.join(', ')} FROM memberships WHERE source = ?`
const PUT_ROW = `INSERT INTO memberships (${ROW.join(', ')}) VALUES (${ROW.map(() => '?').join(', ')}) ON CONFLICT (source) DO UPDATE SET ${ROW.map((name) => `${name} = excluded.${name}`).join(', ')}`

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

function subjectIn({ realm, user_id: userId, email }: MembershipRow): Subject {
  return { realm, userId, email }
}

/** The user or address whose rights a membership gives. */
type Subject = Pick<Membership, 'realm' | 'userId' | 'email'>

/** Announces the users and addresses whose rights these memberships gave or give. */
function touch({ unit }: WriteContext, rows: readonly Subject[]): void {
  if (rows.length === 0) return
  unit.touchSubjects(rows.flatMap(({ userId, email }) => userId ?? email ?? []))
  unit.touchPolicy([...new Set(rows.map(({ realm }) => fact('members', realm)))])
}
