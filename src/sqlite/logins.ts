import { eq, lt } from 'drizzle-orm'
import type { LoginReader, LoginWriter } from '../domain/store/people'
import { revokedLogins, spentStates } from './schema'
import type { Scope, WriteScope } from './scope'

export function loginReader(scope: Scope): LoginReader {
  return {
    isRevoked: (id) =>
      scope.connection.orm.select().from(revokedLogins).where(eq(revokedLogins.id, id)).get() !==
      undefined,
  }
}

export function loginWriter(scope: WriteScope): LoginWriter {
  return {
    ...loginReader(scope),
    spend(id, expires) {
      const added = scope.connection.orm
        .insert(spentStates)
        .values({ id, expires })
        .onConflictDoNothing()
        .returning()
        .all()
      return added.length > 0
    },
    revoke(id, expires) {
      // Whoever remembers a token of this login has to look again.
      scope.unit.group.policyTouched = true
      scope.connection.orm.insert(revokedLogins).values({ id, expires }).onConflictDoNothing().run()
    },
    prune(before) {
      const { orm } = scope.connection
      orm.delete(spentStates).where(lt(spentStates.expires, before)).run()
      orm.delete(revokedLogins).where(lt(revokedLogins.expires, before)).run()
    },
  }
}
