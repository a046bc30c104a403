import { and, eq, gt, isNull } from 'drizzle-orm'
import { memberships } from './schema'
import type { TxContext, WriteContext } from './context'
import type { MembershipReader, MembershipWriter } from '../domain/store/memberships'

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

export function membershipWriter(context: WriteContext): MembershipWriter {
  const touch = () => {
    context.unit.group.policyTouched = true
  }
  return {
    ...membershipReader(context),
    put(membership) {
      touch()
      context.connection.orm
        .insert(memberships)
        .values(membership)
        .onConflictDoUpdate({ target: memberships.source, set: membership })
        .run()
    },
    removeOfRealm(realm) {
      touch()
      context.connection.orm.delete(memberships).where(eq(memberships.realm, realm)).run()
    },
    remove(source) {
      touch()
      context.connection.orm.delete(memberships).where(eq(memberships.source, source)).run()
    },
  }
}
