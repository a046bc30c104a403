import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { Scope } from '../domain/value/scope'
import type { Job, Provider, SigningKey, Setting } from '../domain/store/records'
import type { Code } from '../domain/store/credentials'
import type { IndexState } from '../domain/store/tables'

/** The tables of `migrations/sqlite`, as drizzle sees them: property names are the domain's. */
export const tables = sqliteTable('tables', {
  number: integer().primaryKey({ autoIncrement: true }),
  name: text().notNull(),
  primaryKey: text('primary_key', { mode: 'json' }).$type<readonly string[]>(),
  compound: integer({ mode: 'boolean' }).notNull(),
  generated: integer({ mode: 'boolean' }).notNull(),
  idPrefix: text('id_prefix').notNull(),
  stores: text().notNull(),
  hidden: integer({ mode: 'boolean' }).notNull(),
  largest: integer().notNull().default(0),
  builtIn: integer('built_in', { mode: 'boolean' }).notNull(),
  sum: integer().notNull().default(0),
})

export const indexes = sqliteTable('indexes', {
  number: integer().primaryKey({ autoIncrement: true }),
  tableNumber: integer('table_number').notNull(),
  name: text().notNull(),
  multi: integer({ mode: 'boolean' }).notNull(),
  state: text().$type<IndexState | 'dropped'>().notNull(),
  sum: integer().notNull().default(0),
})

export const clients = sqliteTable('clients', {
  id: text().primaryKey(),
  secretHash: text('secret_hash').notNull(),
  scopes: text({ mode: 'json' }).$type<readonly Scope[]>().notNull(),
  name: text(),
  created: integer().notNull(),
  expires: integer(),
  email: text(),
  sum: integer().notNull(),
})

export const keys = sqliteTable('keys', {
  id: text().primaryKey(),
  state: text().$type<SigningKey['state']>().notNull(),
  publicKey: text('public_key').notNull(),
  sealedPrivateKey: text('sealed_private_key').notNull(),
  created: integer().notNull(),
  retired: integer(),
  sum: integer().notNull(),
})

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
  sum: integer().notNull().default(0),
})

export const mails = sqliteTable('mails', {
  id: text().primaryKey(),
  recipient: text().notNull(),
  sealed: text().notNull(),
  attempts: integer().notNull(),
  created: integer().notNull(),
  due: integer().notNull(),
  expires: integer().notNull(),
  sum: integer().notNull().default(0),
})

export const providers = sqliteTable('providers', {
  id: text().primaryKey(),
  type: text().$type<Provider['type']>().notNull(),
  displayName: text('display_name').notNull(),
  iconUrl: text('icon_url'),
  clientId: text('client_id').notNull(),
  sealedSecret: text('sealed_secret'),
  scopes: text({ mode: 'json' }).$type<readonly string[]>(),
  options: text({ mode: 'json' }).$type<Provider['options']>().notNull(),
  created: integer().notNull(),
  sum: integer().notNull(),
})

export const spentStates = sqliteTable('spent_states', {
  id: text().primaryKey(),
  expires: integer().notNull(),
})

export const revokedLogins = sqliteTable('revoked_logins', {
  id: text().primaryKey(),
  expires: integer().notNull(),
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
  sum: integer().notNull().default(0),
})

export const origins = sqliteTable('origins', {
  id: text().primaryKey(),
  created: integer().notNull(),
  sum: integer().notNull(),
})

export const settings = sqliteTable('settings', {
  id: text().primaryKey(),
  value: text({ mode: 'json' }).$type<Setting['value']>().notNull(),
  sum: integer().notNull(),
})

export const jobs = sqliteTable('jobs', {
  id: text().primaryKey(),
  kind: text().$type<Job['kind']>().notNull(),
  state: text({ mode: 'json' }).$type<Job['state']>().notNull(),
  done: integer().notNull(),
  total: integer(),
  created: integer().notNull(),
  failure: text(),
  sum: integer().notNull(),
})
