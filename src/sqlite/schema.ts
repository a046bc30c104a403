import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { Scope } from '../domain/value/scope'
import type { Code } from '../domain/store/credentials'

/** The tables of credentials and invitations, as drizzle sees them: property names are the domain's. */
export const refreshTokens = sqliteTable('refresh_tokens', {
  hash: text().primaryKey(),
  clientId: text('client_id').notNull(),
  subject: text().notNull(),
  claims: text({ mode: 'json' }).$type<Readonly<Record<string, unknown>>>().notNull(),
  scopes: text({ mode: 'json' }).$type<readonly Scope[]>().notNull(),
  publicKey: text('public_key').notNull(),
  created: integer().notNull(),
  lastUsed: integer('last_used').notNull(),
  user: integer('user_number'),
  login: text(),
  sum: integer().notNull().default(0),
})

export const refreshUses = sqliteTable(
  'refresh_uses',
  {
    hash: text().notNull(),
    timeStamp: integer('time_stamp').notNull(),
    used: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.hash, table.timeStamp] })],
)

export const codes = sqliteTable('codes', {
  id: text().primaryKey(),
  kind: text().$type<Code['kind']>().notNull(),
  hash: text(),
  subject: text().notNull(),
  scopes: text({ mode: 'json' }).$type<readonly string[]>().notNull(),
  state: text({ mode: 'json' }).$type<Code['state']>().notNull(),
  attempts: integer().notNull(),
  created: integer().notNull(),
  expires: integer().notNull(),
  used: integer(),
})

export const invitations = sqliteTable('invitations', {
  id: text().primaryKey(),
  member: text().notNull(),
  realm: integer().notNull(),
  email: text().notNull(),
  inviter: text().notNull(),
  origin: text(),
  originName: text('origin_name').notNull(),
  sent: integer().notNull(),
  expires: integer().notNull(),
})
