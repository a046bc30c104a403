import { and, desc, eq, getTableColumns, gt, lte } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import type { Database } from 'bun:sqlite'
import type { Connection } from './connection'
import { codes, invitations, refreshTokens, refreshUses } from './schema'
import type { TxContext, WriteContext } from './context'
import { noteSum, requireSound, withoutSum } from './summed'
import type {
  CodeReader,
  CodeWriter,
  RefreshTokenReader,
  RefreshTokenWriter,
} from '../domain/store/credentials'
import type { InvitationReader, InvitationWriter } from '../domain/store/invitations'

const ormsByConnection = new WeakMap<Connection, ReturnType<typeof openOrm>>()

/** Drizzle on a connection. This file is loaded when it is first needed, and drizzle with it (`tx.ts`). */
function ormOf(connection: Connection) {
  const orm = ormsByConnection.get(connection) ?? openOrm(connection)
  ormsByConnection.set(connection, orm)
  return orm
}

/** Drizzle prepares at every call and uses its client for nothing else: it gets cached statements. */
function openOrm({ prepare }: Connection) {
  return drizzle({ client: { prepare } as unknown as Database })
}

export function codeReader(context: TxContext): CodeReader {
  const { connection } = context
  return {
    find: (id) => ormOf(connection).select().from(codes).where(eq(codes.id, id)).get(),
    ofSubject: (subject, since) =>
      ormOf(connection)
        .select()
        .from(codes)
        .where(and(eq(codes.subject, subject), gt(codes.created, since)))
        .orderBy(desc(codes.created))
        .all(),
  }
}

const REFRESH_TOKEN = withoutSum(getTableColumns(refreshTokens))

export function codeWriter(context: WriteContext): CodeWriter {
  return {
    ...codeReader(context),
    put(code) {
      ormOf(context.connection)
        .insert(codes)
        .values(code)
        .onConflictDoUpdate({ target: codes.id, set: code })
        .run()
    },
  }
}

export function refreshTokenReader(context: TxContext): RefreshTokenReader {
  return {
    find(hash) {
      const { connection } = context
      context.unit?.owed.payRows(TOKENS)
      requireSound(connection, 'refresh_tokens', hash)
      const tokens = ormOf(connection).select(REFRESH_TOKEN).from(refreshTokens)
      return tokens.where(eq(refreshTokens.hash, hash)).get()
    },
    findUse: (hash, timeStamp) =>
      ormOf(context.connection)
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
      context.unit?.owed.payRows(TOKENS)
      ormOf(context.connection)
        .insert(refreshTokens)
        .values(token)
        .onConflictDoUpdate({ target: refreshTokens.hash, set: token })
        .run()
      noteSum(context.connection, 'refresh_tokens', token.hash)
    },
    recordUse(hash, timeStamp, now) {
      ormOf(context.connection).insert(refreshUses).values({ hash, timeStamp, used: now }).run()
    },
    removeOf(holder) {
      const [column, value] =
        'clientId' in holder
          ? (['client_id', holder.clientId] as const)
          : 'user' in holder
            ? (['user_number', holder.user] as const)
            : (['login', holder.login] as const)
      const sql = `DELETE FROM refresh_tokens WHERE hash IN (SELECT hash FROM refresh_tokens WHERE ${column} = ? LIMIT ?)`
      const { connection, unit } = context
      unit.owed.removeRows(TOKENS, (limit) => connection.prepare(sql).run(value, limit).changes)
    },
  }
}

const TOKENS = 'refresh_tokens'

export function invitationReader(context: TxContext): InvitationReader {
  return {
    find: (id) =>
      ormOf(context.connection).select().from(invitations).where(eq(invitations.id, id)).get(),
    sent: (of, { after, until }, most) =>
      ormOf(context.connection)
        .select({ sent: invitations.sent })
        .from(invitations)
        .where(
          and(
            'inviter' in of ? eq(invitations.inviter, of.inviter) : eq(invitations.email, of.email),
            gt(invitations.sent, after),
            lte(invitations.sent, until),
          ),
        )
        .orderBy(desc(invitations.sent))
        .limit(most)
        .all()
        .map(({ sent }) => sent),
  }
}

export function invitationWriter(context: WriteContext): InvitationWriter {
  return {
    ...invitationReader(context),
    put(invitation) {
      ormOf(context.connection).insert(invitations).values(invitation).run()
    },
  }
}
