import { and, desc, eq, getTableColumns, gt, lt } from 'drizzle-orm'
import { codes, refreshTokens, refreshUses, revokedLogins, spentStates } from './schema'
import type { TxContext, WriteContext } from './context'
import { fact, note } from './memo'
import { noteSum, readingSound, requireSound, withoutSum } from './summed'
import type {
  CodeReader,
  CodeWriter,
  LoginReader,
  LoginWriter,
  RefreshTokenReader,
  RefreshTokenWriter,
  TimeReader,
  TimeWriter,
} from '../domain/store/credentials'

export function codeReader(context: TxContext): CodeReader {
  const { connection } = context
  return {
    find(id) {
      requireSound(connection, 'codes', id)
      return connection.orm.select(CODE).from(codes).where(eq(codes.id, id)).get()
    },
    ofSubject(subject, since) {
      const found = readingSound('codes', () =>
        connection.orm
          .select(CODE)
          .from(codes)
          .where(and(eq(codes.subject, subject), gt(codes.created, since)))
          .orderBy(desc(codes.created))
          .all(),
      )
      for (const { id } of found) requireSound(connection, 'codes', id)
      return found
    },
  }
}

const CODE = withoutSum(getTableColumns(codes))
const REFRESH_TOKEN = withoutSum(getTableColumns(refreshTokens))

export function codeWriter(context: WriteContext): CodeWriter {
  return {
    ...codeReader(context),
    put(code) {
      context.connection.orm
        .insert(codes)
        .values(code)
        .onConflictDoUpdate({ target: codes.id, set: code })
        .run()
      noteSum(context.connection, 'codes', code.id)
    },
    removeOfSubject(subject) {
      context.connection.orm.delete(codes).where(eq(codes.subject, subject)).run()
    },
    prune(before) {
      context.connection.orm.delete(codes).where(lt(codes.expires, before)).run()
    },
  }
}

export function refreshTokenReader(context: TxContext): RefreshTokenReader {
  return {
    find(hash) {
      const { connection } = context
      requireSound(connection, 'refresh_tokens', hash)
      const tokens = connection.orm.select(REFRESH_TOKEN).from(refreshTokens)
      return tokens.where(eq(refreshTokens.hash, hash)).get()
    },
    findUse: (hash, timeStamp) =>
      context.connection.orm
        .select({ used: refreshUses.used })
        .from(refreshUses)
        .where(and(eq(refreshUses.hash, hash), eq(refreshUses.timeStamp, timeStamp)))
        .get()?.used,
  }
}

export function refreshTokenWriter(context: WriteContext): RefreshTokenWriter {
  return {
    ...refreshTokenReader(context),
    put(token) {
      context.connection.orm
        .insert(refreshTokens)
        .values(token)
        .onConflictDoUpdate({ target: refreshTokens.hash, set: token })
        .run()
      noteSum(context.connection, 'refresh_tokens', token.hash)
    },
    recordUse(hash, timeStamp, now) {
      context.connection.orm.insert(refreshUses).values({ hash, timeStamp, used: now }).run()
    },
    removeOfClient(clientId) {
      context.connection.orm.delete(refreshTokens).where(eq(refreshTokens.clientId, clientId)).run()
    },
    removeOfUser(incarnation) {
      context.connection.orm.delete(refreshTokens).where(eq(refreshTokens.user, incarnation)).run()
    },
    removeOfLogin(login) {
      context.connection.orm.delete(refreshTokens).where(eq(refreshTokens.login, login)).run()
    },
    prune(idleBefore, usedBefore) {
      const { orm } = context.connection
      orm.delete(refreshTokens).where(lt(refreshTokens.lastUsed, idleBefore)).run()
      orm.delete(refreshUses).where(lt(refreshUses.used, usedBefore)).run()
    },
  }
}

export function loginReader(context: TxContext): LoginReader {
  return {
    isRevoked(id) {
      note(context, 'login', id)
      const { orm } = context.connection
      return orm.select().from(revokedLogins).where(eq(revokedLogins.id, id)).get() !== undefined
    },
  }
}

export function loginWriter(context: WriteContext): LoginWriter {
  return {
    ...loginReader(context),
    spend(id, expires) {
      const added = context.connection.orm
        .insert(spentStates)
        .values({ id, expires })
        .onConflictDoNothing()
        .returning()
        .all()
      return added.length > 0
    },
    revoke(id, expires) {
      // Remembered tokens of this login must be checked again.
      context.unit.touchPolicy([fact('login', id)])
      context.connection.orm
        .insert(revokedLogins)
        .values({ id, expires })
        .onConflictDoNothing()
        .run()
    },
    prune(before) {
      const { orm } = context.connection
      orm.delete(spentStates).where(lt(spentStates.expires, before)).run()
      orm.delete(revokedLogins).where(lt(revokedLogins.expires, before)).run()
    },
  }
}

export function timeReader(context: TxContext): TimeReader {
  const select = 'SELECT latest_time AS time FROM database'
  return {
    latest: () => context.connection.prepare<{ time: number }>(select).get()!.time,
  }
}

export function timeWriter(context: WriteContext): TimeWriter {
  return {
    ...timeReader(context),
    keep(time) {
      context.connection.prepare('UPDATE database SET latest_time = max(latest_time, ?)').run(time)
    },
    reset(time) {
      context.connection.prepare('UPDATE database SET latest_time = ?').run(time)
    },
  }
}
