import { and, eq, lt } from 'drizzle-orm'
import type { RefreshTokenReader, RefreshTokenWriter } from '../domain/store/people'
import { refreshTokens, refreshUses } from './schema'
import type { Scope, WriteScope } from './scope'

export function refreshTokenReader(scope: Scope): RefreshTokenReader {
  return {
    find: (hash) =>
      scope.connection.orm.select().from(refreshTokens).where(eq(refreshTokens.hash, hash)).get(),
    findUse: (hash, timeStamp) =>
      scope.connection.orm
        .select({ used: refreshUses.used })
        .from(refreshUses)
        .where(and(eq(refreshUses.hash, hash), eq(refreshUses.timeStamp, timeStamp)))
        .get()?.used,
  }
}

export function refreshTokenWriter(scope: WriteScope): RefreshTokenWriter {
  return {
    ...refreshTokenReader(scope),
    put(token) {
      scope.connection.orm
        .insert(refreshTokens)
        .values(token)
        .onConflictDoUpdate({ target: refreshTokens.hash, set: token })
        .run()
    },
    recordUse(hash, timeStamp, now) {
      scope.connection.orm.insert(refreshUses).values({ hash, timeStamp, used: now }).run()
    },
    removeOfClient(clientId) {
      scope.connection.orm.delete(refreshTokens).where(eq(refreshTokens.clientId, clientId)).run()
    },
    removeOfUser(incarnation) {
      scope.connection.orm.delete(refreshTokens).where(eq(refreshTokens.user, incarnation)).run()
    },
    removeOfLogin(login) {
      scope.connection.orm.delete(refreshTokens).where(eq(refreshTokens.login, login)).run()
    },
    prune(idleBefore, usedBefore) {
      const { orm } = scope.connection
      orm.delete(refreshTokens).where(lt(refreshTokens.lastUsed, idleBefore)).run()
      orm.delete(refreshUses).where(lt(refreshUses.used, usedBefore)).run()
    },
  }
}
