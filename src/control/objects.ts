import { READ, WRITE } from '../domain/access/door'
import { offloadWith } from '../domain/blob/offload'
import {
  browse,
  type BrowsedObject,
  type Browsing,
  MOST_BROWSED,
  showObject,
  type ShownObject,
} from '../domain/object/browse'
import { listTraces } from '../domain/object/history'
import { removeObject } from '../domain/object/remove'
import { listSeers } from '../domain/object/seers'
import { requireTable } from '../domain/object/tables'
import { upsertObjects } from '../domain/object/upsert'
import { ROW_RULES, rowRulesWith } from '../domain/rows/row-rules'
import type { Database, ReadTx } from '../domain/store/store'
import { SatchelError } from '../domain/value/error'
import { keyOf } from '../domain/value/key'
import { nextTurn } from '../domain/value/turn'
import { parseStored } from '../domain/value/value'
import type { OpenDatabase } from '../host/host'
import { described, flag, json, optional, text, type Values, whole } from './fields'
import { onDatabase, type OperationContext, type Streams } from './operation'

/** Tables are counted up to this: counting so many objects takes a few milliseconds. */
const MAX_COUNTED_OBJECTS = 100_000

/** About as long as the query of an address may be. */
const FILTER_CHARACTERS = 16 * 1024

const TABLE = { table: described(text, 'The name of a table.', { examples: ['todoItems'] }) }
const OBJECT = { ...TABLE, key: described(text, 'The key, a compound one as JSON.') }
/** Only keys that begin with this. */
export const PREFIX = described(optional(text), 'Only keys that begin with this.')
const IF_REVISION = {
  ifRevision: described(
    optional(whole),
    'Refuse to change an object that has another revision; 0: one that exists.',
  ),
}

/** The objects of a table that a person asks for. */
export const CHOICE = {
  filter: described(
    optional(text),
    'Only objects with these values, as in the query of `/all`: `done=false&title=milk`.',
  ),
  search: described(
    optional(text),
    'Only objects with this text in their key or their JSON; case and accents are ignored.',
  ),
}

/** The parts of a page of objects. */
export const PAGE = {
  ...TABLE,
  ...CHOICE,
  cursor: described(optional(text), 'The `cursor` of the page before; the rest must be the same.'),
  limit: described(optional(whole), `How many objects: 1 to ${MOST_BROWSED}, which is usual.`),
}

/** The objects of a database (design.md §6), as administrators see and change them. */
export const objectOperations = {
  /** `objects` counts up to 100,000: with `hasMore` there are more. */
  'table.list': onDatabase(
    { scopes: READ, effect: 'read', summary: 'List the tables with their objects', input: {} },
    async (_host, _input, { read, signal }) => {
      const tables = await read((tx) => tx.tables.list())
      const counted = []
      for (const { number: _, indexes, ...table } of tables) {
        signal?.throwIfAborted()
        const count = await read((tx) => countOf(tx, table.name))
        const objects = Math.min(count, MAX_COUNTED_OBJECTS)
        const names = indexes.map(({ name, multi, state }) => ({ name, multi, state }))
        counted.push({ ...table, objects, hasMore: count > MAX_COUNTED_OBJECTS, indexes: names })
        await nextTurn()
      }
      return counted
    },
  ),

  /**
   * A page of a table. With `prefix` it is in the order of keys. Objects are emitted while a search goes on, and `objects`
   * has the others; `cursor` is null at the end. Progress is in objects that were looked at.
   */
  'object.list': onDatabase(
    {
      scopes: READ,
      effect: 'read',
      summary: 'List the objects of a table',
      input: {
        ...PAGE,
        prefix: PREFIX,
        newestFirst: described(flag, 'The objects that were created last come first.'),
      },
    },
    async ({ database }, { prefix, newestFirst, ...page }, context) =>
      listPage(database, context, {
        ...readPage(page),
        actor: context.actor,
        view: 'all',
        prefix: prefix ?? '',
        isNewestFirst: newestFirst,
      }),
  ),

  /** The whole object. Times in ms; `revision` is for `ifRevision`. */
  'object.show': onDatabase(
    { scopes: READ, effect: 'read', summary: 'Show an object', input: OBJECT },
    (_host, { table, key }, { read }) => read((tx) => showObject(tx, table, key)),
  ),

  /** The users who see an object by the rules of `/my`, each with the row that is the reason; a page of them. */
  'object.seers': onDatabase(
    {
      scopes: READ,
      effect: 'read',
      summary: 'List the users who see an object',
      input: { ...OBJECT, cursor: PAGE.cursor },
    },
    (_host, object, { read, now }) => read((tx) => listSeers(tx, object, now)),
  ),

  /** The known past of an object, also of one that is gone. Times in ms. */
  'object.traces': onDatabase(
    { scopes: READ, effect: 'read', summary: 'List the traces of an object', input: OBJECT },
    async (_host, { table, key }, { read }) => ({
      traces: await read((tx) => listTraces(tx, table, key)),
    }),
  ),

  /**
   * Creates or replaces an object by the rules of `/all`, and shows it. Without `key` the value has it, or the server makes
   * it. Throws `CONFLICT` with the reason `revision` when it is not the object that `ifRevision` means.
   */
  'object.put': onDatabase(
    {
      scopes: WRITE,
      effect: 'write',
      summary: 'Create or replace an object',
      input: {
        ...TABLE,
        key: described(
          optional(text),
          'The key; absent: the value has it, or the server makes it.',
        ),
        value: described(json, 'The object, with its `realmId`.', { type: 'object' }),
        ...IF_REVISION,
      },
    },
    (opened, input, context) => putObject(opened, input, context),
  ),

  /** Removes an object by the rules of `/all`. Throws `UNKNOWN_OBJECT`, and `CONFLICT` as `object.put` does. */
  'object.delete': onDatabase(
    {
      scopes: WRITE,
      effect: 'destroy',
      summary: 'Delete an object',
      input: { ...OBJECT, ...IF_REVISION },
    },
    async (opened, input, context) => {
      await deleteObject(opened, input, context)
      return { table: input.table, key: input.key }
    },
  ),
}

/** An object to write, as `object.put` has it. */
interface Put {
  readonly table: string
  readonly key: string | null
  readonly value: unknown
  readonly ifRevision: number | null
}

/** Creates or replaces an object as `object.put` does, and shows it. */
export async function putObject(
  opened: OpenDatabase,
  { table, key, value, ifRevision }: Put,
  { folder, actor, now, record, read }: OperationContext,
): Promise<ShownObject> {
  const { database, blobs, invitations } = opened
  const { writeLimits: limits, blobLimits, offloadRule: rule } = folder
  const sending = rowRulesWith((tx, facts) => invitations.send(tx, facts, null))
  const [stored = ''] = await upsertObjects(database, {
    actor,
    table,
    now,
    limits,
    beginOffload: offloadWith({ contents: blobs, limits: blobLimits, rule }),
    view: 'all',
    objects: [value],
    isArray: false,
    key: key ?? undefined,
    rulesByTable: sending,
    before(tx, { name }, own) {
      requireRevision(tx, name, own, ifRevision)
      record(tx)
    },
  })
  return await read((tx) => showStored(tx, table, stored))
}

/** Removes an object as `object.delete` does. */
export async function deleteObject(
  { database }: OpenDatabase,
  { table, key, ifRevision = null }: { table: string; key: string; ifRevision?: number | null },
  { actor, now, record }: OperationContext,
): Promise<void> {
  await removeObject(database, {
    actor,
    table,
    key,
    now,
    view: 'all',
    rulesByTable: ROW_RULES,
    before(tx, { key: own }) {
      requireRevision(tx, table, own, ifRevision)
      record(tx)
    },
  })
}

/** Reads the parts that every page has. Throws `INVALID_REQUEST`. */
export function readPage({ table, filter, search, cursor, limit }: Values<typeof PAGE>) {
  const most = limit ?? MOST_BROWSED
  if (most < 1 || most > MOST_BROWSED) {
    throw new SatchelError('INVALID_REQUEST', `limit must be from 1 to ${MOST_BROWSED}`)
  }
  return { table, ...readChoice({ filter, search }), cursor, limit: most }
}

/** Throws `INVALID_REQUEST`. */
export function readChoice({ filter, search }: Values<typeof CHOICE>) {
  if ((filter?.length ?? 0) > FILTER_CHARACTERS) {
    throw new SatchelError(
      'INVALID_REQUEST',
      `filter must have at most ${FILTER_CHARACTERS} characters: name fewer values`,
    )
  }
  return { filter: filter ?? '', search: search ?? '' }
}

/** Emits objects as long as more are looked for; the others are in the result. */
export async function listPage(
  database: Database,
  { emit, progress, signal }: Streams,
  browsing: Browsing,
): Promise<{ readonly objects: readonly BrowsedObject[]; readonly cursor: string | null }> {
  const kept: BrowsedObject[] = []
  for await (const { objects, seen, cursor } of browse(database, { ...browsing, signal })) {
    kept.push(...objects)
    if (cursor !== undefined) return { objects: kept, cursor }
    progress?.(seen, null)
    if (emit === undefined) continue
    for (const object of kept.splice(0)) await emit(object)
  }
  return { objects: kept, cursor: null }
}

function countOf(tx: ReadTx, name: string): number {
  const table = tx.tables.find(name)
  return table === undefined ? 0 : tx.objects.count(table, MAX_COUNTED_OBJECTS + 1)
}

/** Throws `CONFLICT` when the object is not the one that a caller has seen. */
function requireRevision(
  tx: ReadTx,
  tableName: string,
  key: string | undefined,
  expected: number | null,
): void {
  if (expected === null) return
  const known =
    key === undefined ? undefined : tx.objects.find(requireTable(tx, tableName), key)?.revision
  if ((known ?? 0) === expected) return
  throw new SatchelError('CONFLICT', staleMessage(known, expected), { reason: 'revision' })
}

function staleMessage(known: number | undefined, expected: number): string {
  if (known === undefined) return 'The object was deleted meanwhile'
  return expected === 0
    ? 'There is an object with this key already'
    : `The object was changed meanwhile: its revision is ${known}, not ${expected}`
}

/** Shows an object that was stored as this text. */
function showStored(tx: ReadTx, tableName: string, stored: string) {
  return showObject(tx, tableName, keyOf(requireTable(tx, tableName), parseStored(stored)) ?? '')
}
