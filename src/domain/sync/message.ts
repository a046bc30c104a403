import type { Change, TimedObject } from '../store/objects'
import { type WireObject, getOwn, parseStored } from '../value/value'
import type { NamedKey } from './named-keys'
import { namesSince, readStamps, stampedSince } from '../object/stamps'

type Type = 'upsert' | 'update' | 'delete'

/** The field of an operation that has one element for each key; deletes have none. */
const VALUES = { upsert: 'values', update: 'changeSpecs', delete: undefined } as const

/**
 * The operations of a message to clients, which fold them by key in any case (protocol.md §4.8). Collected in
 * their order: consecutive ones of a table and type become one.
 */
export class OutgoingOperations {
  readonly #entries: string[] = []
  #muts: string[] = []
  #table: string | undefined
  #type: Type | undefined
  #keys: string[] = []
  #values: string[] = []
  #size = 0

  /** `value` is the stored text of the object. */
  upsert(table: string, key: string, value: string): void {
    this.#add(table, 'upsert', JSON.stringify(key), value)
  }

  /** Several at once: keys as JSON strings and stored texts, each joined by commas. */
  upserts(table: string, keys: string, values: string): void {
    if (keys !== '') this.#add(table, 'upsert', keys, values)
  }

  /** `spec` is the JSON text of a changeSpec. */
  update(table: string, key: string, spec: string): void {
    this.#add(table, 'update', JSON.stringify(key), spec)
  }

  delete(table: string, key: string): void {
    this.#add(table, 'delete', JSON.stringify(key), '')
  }

  /** The characters of the text so far, roughly. */
  get size(): number {
    return this.#size
  }

  /** `{table, muts}` entries as JSON, joined by commas; empty when there is no operation. */
  text(): string {
    this.#endTable()
    return joined(this.#entries)
  }

  /** `key` is JSON; it and `value` may be several, joined by commas. */
  #add(table: string, type: Type, key: string, value: string): void {
    if (table !== this.#table) {
      this.#endTable()
      this.#table = table
    }
    if (type !== this.#type) {
      this.#endOperation()
      this.#type = type
    }
    this.#keys.push(key)
    if (type !== 'delete') this.#values.push(value)
    this.#size += key.length + value.length
  }

  #endTable(): void {
    this.#endOperation()
    if (this.#table === undefined) return
    const muts = joined(this.#muts)
    this.#entries.push(`{"table":${JSON.stringify(this.#table)},"muts":[${muts}]}`)
    this.#table = undefined
    this.#muts = []
  }

  #endOperation(): void {
    const type = this.#type
    if (type === undefined) return
    const field = VALUES[type]
    const list = field === undefined ? '' : `,"${field}":[${joined(this.#values)}]`
    this.#muts.push(`{"type":"${type}","keys":[${joined(this.#keys)}]${list}}`)
    this.#type = undefined
    this.#keys = []
    this.#values = []
  }
}

/** A single text is not copied: thousands of rows may be one. */
function joined(texts: readonly string[]): string {
  return texts.length === 1 ? (texts[0] ?? '') : texts.join(',')
}

/**
 * The operations that bring a client from revision `base` to these changes, as JSON: entries joined by commas, empty when there is none. The changes are those that the
 * client may see.
 */
export function changeMessage(changes: readonly Change[], base: number): string {
  const operations = new OutgoingOperations()
  for (const change of changes) addChange(operations, change, base)
  return operations.text()
}

/** Adds the change of a row for a client that had all changes up to `base`. */
export function addChange(operations: OutgoingOperations, change: Change, base: number): void {
  const { table, key, object } = change
  if (object === null) operations.delete(table, key)
  else addRow(operations, table, object, base)
}

/**
 * Adds a row as it is now: an `update` with the properties that were written after `base`, so that
 * properties of the client alone survive, and an `upsert` when the client cannot have the row, or
 * when an update cannot say the difference.
 */
function addRow(
  operations: OutgoingOperations,
  table: string,
  object: TimedObject,
  base: number,
): void {
  const names = object.entered > base ? undefined : writtenSince(object, base)
  add(operations, table, object, names && specOf(parseStored(object.value), names))
}

/**
 * Adds the row of a key that a request named: the properties that were written
 * since its base or that the request wrote, unless the client cannot have the row.
 */
export function addNamedRow(
  operations: OutgoingOperations,
  table: string,
  object: TimedObject,
  { base, isRejected, revision, properties }: NamedKey,
): void {
  const isOwn = revision !== undefined && object.entered === revision
  const isKnown = isOwn || (base !== undefined && object.entered <= base)
  if (!isKnown || isRejected || properties === undefined) {
    return operations.upsert(table, object.key, object.value)
  }
  const value = parseStored(object.value)
  const since = isOwn ? unknownTo(object, value, base ?? 0) : writtenSince(object, base ?? 0)
  add(operations, table, object, since && specOf(value, since.union(properties)))
}

function add(
  operations: OutgoingOperations,
  table: string,
  { key, value }: TimedObject,
  spec: string | undefined,
): void {
  if (spec === undefined) operations.upsert(table, key, value)
  else if (spec !== '{}') operations.update(table, key, spec)
}

/**
 * The names of the properties of a row that a request made or moved into its realm, with those that
 * were removed since its base; undefined when they are not known because another replaced the row.
 */
function unknownTo(object: TimedObject, value: WireObject, base: number): Set<string> | undefined {
  const stamps = readStamps(object.stamps, object.updated, object.revision)
  const [, written] = stamps.rest
  if (written > base && written !== object.entered) return undefined
  return new Set(Object.keys(value)).union(stampedSince(stamps, base))
}

function writtenSince(object: TimedObject, base: number): Set<string> | undefined {
  return namesSince(readStamps(object.stamps, object.updated, object.revision), base)
}

/** Properties of an object as a changeSpec; undefined when one of the names would be a path. */
function specOf(value: WireObject, names: Iterable<string>): string | undefined {
  const members: string[] = []
  for (const name of names) {
    if (name.includes('.')) return undefined
    const text = Object.hasOwn(value, name) ? JSON.stringify(getOwn(value, name)) : UNDEFINED
    members.push(`${JSON.stringify(name)}:${text}`)
  }
  const spec = members.join(',')
  // Without it the application would see a reference that just arrived (protocol.md §8.3).
  const isFlagged = !spec.includes('"_bt":') || spec.includes('"_hasBlobRefs":')
  return isFlagged ? `{${spec}}` : `{${spec},"_hasBlobRefs":1}`
}

const UNDEFINED = '{"$t":"undefined"}'
