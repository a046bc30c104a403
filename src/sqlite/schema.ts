import { blob, integer, primaryKey, real, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { Scope } from '../domain/value/scope'
import type { AuditLine } from '../domain/store/audit'
import type { Code } from '../domain/store/credentials'
import type { CriteriaOperation } from '../domain/store/sync'
import type { UserType } from '../domain/store/users'

// The fixed tables, in the order of `0001_init.sql`, whose comments say what their columns mean. Others take the
// types of rows from here with `import type`: the file itself is loaded with drizzle, when it is first needed
// (`credentials.ts`). Properties have the names of the domain.

export const database = sqliteTable('database', {
  onlyRow: integer('only_row').primaryKey(),
  id: text().notNull(),
  epoch: text().notNull(),
  revision: integer().notNull(),
  oldestRevision: integer('oldest_revision').notNull(),
  nextSeq: integer('next_seq').notNull(),
  idHighWater: integer('id_high_water').notNull(),
  objects: integer().notNull(),
  users: integer().notNull(),
  sealed: integer().notNull(),
  created: integer().notNull(),
  latestTime: integer('latest_time').notNull(),
  step: text().notNull(),
})

export const tables = sqliteTable('tables', {
  number: integer().primaryKey({ autoIncrement: true }),
  name: text().notNull().unique(),
  primaryKey: text('primary_key'),
  compound: integer().notNull(),
  generated: integer().notNull(),
  idPrefix: text('id_prefix').notNull(),
  stores: text().notNull(),
  hidden: integer().notNull(),
  largest: integer().notNull().default(0),
  builtIn: integer('built_in').notNull(),
})

export const indexes = sqliteTable('indexes', {
  number: integer().primaryKey({ autoIncrement: true }),
  tableNumber: integer('table_number').notNull(),
  name: text().notNull(),
  multi: integer().notNull(),
  state: text().$type<'building' | 'ready' | 'dropped'>().notNull(),
  sum: integer().notNull().default(0),
})

export const indexEntries = sqliteTable(
  'index_entries',
  {
    indexNumber: integer('index_number').notNull(),
    key: blob({ mode: 'buffer' }).notNull(),
    seq: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.indexNumber, table.key, table.seq] })],
)

export const realmIds = sqliteTable('realm_ids', {
  number: integer().primaryKey({ autoIncrement: true }),
  id: text().notNull(),
  state: text().$type<'live' | 'erasing' | 'erased'>().notNull(),
  born: integer().notNull(),
  head: integer().notNull(),
  sum: integer().notNull().default(0),
})

export const realmMoves = sqliteTable('realm_moves', {
  number: integer().primaryKey(),
  revision: integer().notNull(),
  realms: text().notNull(),
})

export const tombstones = sqliteTable(
  'tombstones',
  {
    tableNumber: integer('table_number').notNull(),
    key: text().notNull(),
    realm: integer().notNull(),
    revision: integer().notNull(),
    at: integer().notNull(),
    client: integer(),
    entered: integer().notNull(),
  },
  (table) => [primaryKey({ columns: [table.tableNumber, table.key, table.realm] })],
)

export const runs = sqliteTable('runs', {
  run: text().primaryKey(),
  first: integer().notNull(),
})

export const syncClients = sqliteTable('sync_clients', {
  number: integer().primaryKey({ autoIncrement: true }),
  identity: text().notNull(),
  subject: text().notNull(),
  tables: text().notNull(),
  texts: text().notNull(),
  floor: integer().notNull(),
  rejected: integer().notNull(),
  privates: integer().notNull(),
  seen: integer().notNull(),
})

export const applied = sqliteTable(
  'applied',
  {
    client: integer().notNull(),
    txid: text().notNull(),
    revision: integer().notNull(),
    at: integer().notNull(),
    rejection: text(),
    steps: integer(),
    sum: integer().notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.client, table.txid] })],
)

export const stepKeys = sqliteTable('step_keys', {
  client: integer().notNull(),
  txid: text().notNull(),
  step: integer().notNull(),
  keys: text().notNull(),
  sum: integer().notNull().default(0),
})

export const criteriaOps = sqliteTable(
  'criteria_ops',
  {
    subject: text().notNull(),
    tableNumber: integer('table_number').notNull(),
    revision: integer().notNull(),
    position: integer().notNull(),
    client: integer().notNull(),
    email: text(),
    kind: text().$type<CriteriaOperation['kind']>().notNull(),
    criteria: text().notNull(),
    change: text(),
    ts: real().notNull(),
    base: integer(),
    at: integer().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.subject, table.tableNumber, table.revision, table.position] }),
  ],
)

export const memberships = sqliteTable('memberships', {
  source: text().primaryKey(),
  realm: integer().notNull(),
  userId: text('user_id'),
  email: text(),
  accepted: integer().notNull(),
  rejected: integer().notNull(),
  permissions: text().notNull(),
  roles: text().notNull(),
  since: integer().notNull(),
})

export const formerMemberships = sqliteTable(
  'former_memberships',
  {
    subject: text().notNull(),
    key: text().notNull(),
    realm: integer().notNull(),
    revision: integer().notNull(),
    at: integer().notNull(),
    sum: integer().notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.subject, table.key] })],
)

export const users = sqliteTable('users', {
  incarnation: integer('number').primaryKey({ autoIncrement: true }),
  id: text().notNull().unique(),
  type: text().$type<UserType>().notNull(),
  created: integer().notNull(),
  updated: integer().notNull(),
  lastLogin: integer('last_login'),
  validUntil: integer('valid_until'),
  evalUntil: integer('eval_until'),
  deactivated: integer(),
  data: text(),
  email: text(),
  name: text(),
  search: text().notNull(),
  sum: integer().notNull().default(0),
})

export const erasedUsers = sqliteTable('erased_users', {
  number: integer().primaryKey(),
  created: integer().notNull(),
  at: integer().notNull(),
})

export const clients = sqliteTable('clients', {
  id: text().primaryKey(),
  secretHash: text('secret_hash').notNull(),
  scopes: text().notNull(),
  name: text(),
  created: integer().notNull(),
  expires: integer(),
  email: text(),
  sum: integer().notNull().default(0),
})

export const keys = sqliteTable('keys', {
  id: text().primaryKey(),
  state: text().notNull(),
  publicKey: text('public_key').notNull(),
  sealedPrivateKey: text('sealed_private_key').notNull(),
  created: integer().notNull(),
  retired: integer(),
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
})

export const mails = sqliteTable('mails', {
  id: text().primaryKey(),
  recipient: text().notNull(),
  sealed: text().notNull(),
  attempts: integer().notNull(),
  created: integer().notNull(),
  due: integer().notNull(),
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
})

export const providers = sqliteTable('providers', {
  id: text().primaryKey(),
  type: text().notNull(),
  displayName: text('display_name').notNull(),
  iconUrl: text('icon_url'),
  clientId: text('client_id').notNull(),
  sealedSecret: text('sealed_secret'),
  scopes: text(),
  options: text().notNull(),
  created: integer().notNull(),
})

export const spentStates = sqliteTable('spent_states', {
  id: text().primaryKey(),
  expires: integer().notNull(),
})

export const revokedLogins = sqliteTable('revoked_logins', {
  id: text().primaryKey(),
  expires: integer().notNull(),
})

export const origins = sqliteTable('origins', {
  id: text().primaryKey(),
  created: integer().notNull(),
})

export const settings = sqliteTable('settings', {
  id: text().primaryKey(),
  value: text().notNull(),
})

export const jobs = sqliteTable('jobs', {
  id: text().primaryKey(),
  kind: text().notNull(),
  state: text().notNull(),
  done: integer().notNull(),
  total: integer(),
  created: integer().notNull(),
  failure: text(),
})

export const blobs = sqliteTable('blobs', {
  id: text().primaryKey(),
  hash: text().notNull(),
  size: integer().notNull(),
  type: text().notNull(),
  created: integer().notNull(),
  idleSince: integer('idle_since'),
  isLeft: integer('is_left').notNull().default(0),
  file: text().notNull(),
  sum: integer().notNull(),
})

export const blobUploads = sqliteTable(
  'blob_uploads',
  {
    realm: integer().notNull(),
    blob: text().notNull(),
    sum: integer().notNull().default(0),
  },
  (table) => [primaryKey({ columns: [table.realm, table.blob] })],
)

export const blobRefs = sqliteTable(
  'blob_refs',
  {
    blob: text().notNull(),
    realm: integer().notNull(),
    seq: integer().notNull(),
    tableNumber: integer('table_number').notNull(),
  },
  (table) => [primaryKey({ columns: [table.blob, table.realm, table.seq] })],
)

export const blobUsage = sqliteTable('blob_usage', {
  realm: integer().primaryKey(),
  bytes: integer().notNull(),
  blobs: integer().notNull(),
})

export const audit = sqliteTable('audit', {
  seq: integer().primaryKey(),
  id: text().notNull().unique(),
  at: integer().notNull(),
  operation: text().notNull(),
  result: text().notNull(),
  door: text().$type<AuditLine['door']>().notNull(),
  uid: integer(),
  client: text(),
  user: text(),
  address: text(),
  session: text(),
})

/** Made by `prepare.ts`, before the first migration. */
export const migrations = sqliteTable('migrations', {
  number: integer().primaryKey(),
  name: text().notNull(),
  hash: text().notNull(),
  version: text().notNull(),
})
