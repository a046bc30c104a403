import { and, eq, gt, isNull } from 'drizzle-orm'
import { memberships } from './schema'
import type { TxContext, WriteContext } from './context'
import type { PermissionSet } from '../domain/value/permission'
import type { Membership, MembershipReader, MembershipWriter } from '../domain/store/memberships'

export function membershipReader(context: TxContext): MembershipReader {
  const select = () => context.connection.orm.select().from(memberships)
  return {
    ofUser: (userId, limit = -1) =>
      select()
        .where(eq(memberships.userId, userId))
        .orderBy(memberships.realm, memberships.source)
        .limit(limit)
        .all(),
    ofUserIn: (userId, realm) =>
      select()
        .where(and(eq(memberships.userId, userId), eq(memberships.realm, realm)))
        .orderBy(memberships.source)
        .all(),
    ofEmail: (email) =>
      select()
        .where(and(eq(memberships.email, email), isNull(memberships.userId)))
        .all(),
    ofRealm: (realm, limit = -1) =>
      select().where(eq(memberships.realm, realm)).orderBy(memberships.source).limit(limit).all(),
    nextRights(realm, accepted, after) {
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
    membersOf: (realm, after, limit) =>
      select()
        .where(
          and(
            eq(memberships.realm, realm),
            gt(memberships.source, after),
            eq(memberships.accepted, true),
          ),
        )
        .orderBy(memberships.source)
        .limit(limit)
        .all(),
  }
}

/** The membership that is derived from a row. */
export function membershipOfSource(
  { connection }: TxContext,
  source: string,
): Membership | undefined {
  return connection.orm.select().from(memberships).where(eq(memberships.source, source)).get()
}

/** The one whose rights a membership gives. */
type Subject = Pick<Membership, 'userId' | 'email'>

export function membershipWriter(context: WriteContext): MembershipWriter {
  const SUBJECT = { userId: memberships.userId, email: memberships.email }
  const touch = (rows: readonly Subject[]) =>
    context.unit.touchPolicy(rows.flatMap(({ userId, email }) => userId ?? email ?? []))
  return {
    ...membershipReader(context),
    put(membership) {
      const { orm } = context.connection
      const { source } = membership
      const before = orm
        .select(SUBJECT)
        .from(memberships)
        .where(eq(memberships.source, source))
        .all()
      touch([...before, membership])
      orm
        .insert(memberships)
        .values(membership)
        .onConflictDoUpdate({ target: memberships.source, set: membership })
        .run()
    },
    removeOfRealm(realm) {
      const { orm } = context.connection
      touch(orm.delete(memberships).where(eq(memberships.realm, realm)).returning(SUBJECT).all())
    },
    remove(source) {
      const { orm } = context.connection
      touch(orm.delete(memberships).where(eq(memberships.source, source)).returning(SUBJECT).all())
    },
  }
}
