import { SatchelError, quoted, unprocessable } from '../value/error'
import { randomToken } from '../value/id'
import type { Draft } from '../object/draft'
import { type WireObject, getOwn, isRecord, parseStored, setOwn } from '../value/value'
import type { WriteTx } from '../store/store'
import { parseRef, refOf, requireBlobType } from '../value/blob'
import type { BlobLimits } from './limits'
import { type OffloadRule, isOffloaded, findOffloadRule } from './offload-rule'
import type { Arrival, BlobStore } from '../store/blob-store'
import { keepAll } from './content'
import { recordBlob } from './upload'
import type { Table } from '../store/tables'
import { type InlineValue, inlineValueOf } from '../value/inline-value'
import type { BeginOffload, Offload, ExtractedValue, Writing } from '../object/writing'

/** How a server offloads the large values of objects. */
export interface OffloadParts {
  /** Stores the bytes. */
  readonly contents: BlobStore
  readonly limits: BlobLimits
  /** Counts in databases that have no rule of their own. */
  readonly rule: OffloadRule
}

/** The offload step that `upsertObjects` is given. */
export function offloadWith(parts: OffloadParts): BeginOffload {
  return (tx) => {
    const rule = findOffloadRule(tx) ?? parts.rule
    return rule.beyond === undefined ? undefined : createOffload(parts, rule)
  }
}

function createOffload({ contents, limits }: OffloadParts, rule: OffloadRule): Offload {
  const valuesByDraft = new Map<Draft, readonly ExtractedValue[]>()
  const filesByHash = new Map<string, string>()
  let count = 0

  function fileOf(hash: string): string {
    const file = filesByHash.get(hash)
    if (file === undefined) throw new Error('the bytes of an extracted value were not stored')
    return file
  }

  function newRef({ tx, actor, now }: Writing, { hash, bytes, type }: ExtractedValue): string {
    const [id, size, file] = [randomToken(18), bytes.length, fileOf(hash)]
    return recordBlob(tx, actor, { id, hash, size, type, created: now, file }, limits)
  }

  /** The id of the blob that has this value already. */
  function idOfSame(tx: WriteTx, ref: string, value: ExtractedValue): string | undefined {
    const blob = tx.blobs.find(parseRef(ref) ?? '')
    return blob?.hash === value.hash && blob.type === value.type ? blob.id : undefined
  }

  return {
    extract(table, object, path) {
      const values = extractLarge(rule, table, object, path)
      count += values.length
      if (count > MOST) throw tooMany()
      return values
    },

    note(draft, values) {
      if (values.length > 0) valuesByDraft.set(draft, values)
    },

    async keep(record) {
      await using received = new AsyncDisposableStack()
      const all = [...valuesByDraft.values()].flat()
      const bytesByHash = new Map(all.map(({ hash, bytes }) => [hash, bytes]))
      const arrivals: Arrival[] = []
      for (const bytes of bytesByHash.values()) {
        arrivals.push(received.use(await contents.receive(inOnePiece(bytes), ANY_ROOM)))
      }
      return await keepAll(arrivals, () => {
        for (const { hash, file } of arrivals) filesByHash.set(hash, file)
        return record()
      })
    },

    settle(writing, draft, previous) {
      const { tx } = writing
      const all = valuesByDraft.get(draft)
      if (all === undefined) return draft
      const isWhole = previous !== undefined && previous.isDamaged !== true
      const before = isWhole ? parseStored(previous.value) : undefined
      for (const value of all) {
        const known = refAt(before, value.path)
        const id = known === undefined ? undefined : idOfSame(tx, known, value)
        // The bytes that just arrived are whole; those of a known blob may be damaged.
        if (id !== undefined) tx.blobs.setFile(id, fileOf(value.hash))
        value.reference['ref'] = id === undefined ? newRef(writing, value) : known
      }
      return { ...draft, text: JSON.stringify(draft.object) }
    },
  }
}

/** The ref of the BlobRef at a path of a stored object. */
function refAt(object: WireObject | undefined, path: readonly string[]): string | undefined {
  let value: unknown = object
  for (const name of path) {
    if (typeof value !== 'object' || value === null) return undefined
    value = getOwn(value as WireObject, name)
  }
  return isRecord(value) ? refOf(value) : undefined
}

/** Each becomes a file that is synced to disk: no request may keep the disk busy for minutes. */
const MOST = 1_000

function tooMany(): SatchelError {
  return new SatchelError(
    'PAYLOAD_TOO_LARGE',
    `More than ${MOST} values of the request are to become blobs: send its objects in several`,
  )
}

async function* inOnePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/**
 * The body already limits the size of a value, and the quotas are checked when its blob is stored.
 */
const ANY_ROOM = {
  bytes: Number.POSITIVE_INFINITY,
  refuse: () => new SatchelError('PAYLOAD_TOO_LARGE', 'The value is too large'),
}

/**
 * Replaces the values that the rule calls large by BlobRefs, anywhere in the objects and arrays of
 * an object, and marks the object as one with BlobRefs. Keys, indexed properties, the realm and the
 * owner stay, and so does everything in the built-in tables: the server itself reads those. Throws
 * `UNPROCESSABLE` for a value without readable bytes; `place` is the place of the object in the
 * request.
 */
function extractLarge(
  rule: OffloadRule,
  table: Table,
  object: unknown,
  place: string,
): readonly ExtractedValue[] {
  if (table.builtIn || !isRecord(object)) return []
  const kept = new Set([
    'realmId',
    'owner',
    ...(table.primaryKey ?? []),
    ...table.indexes.flatMap(({ paths }) => paths),
  ])
  const values: ExtractedValue[] = []

  function visit(container: WireObject | unknown[], path: readonly string[]): void {
    for (const [name, value] of Object.entries(container)) {
      const inner = [...path, name]
      if (kept.has(inner.join('.'))) continue
      const reference = extractOne(value, inner)
      if (reference !== undefined) {
        if (Array.isArray(container)) container[Number(name)] = reference
        else setOwn(container, name, reference)
      } else if (isEntered(value)) visit(value, inner)
    }
  }

  function extractOne(value: unknown, path: readonly string[]): WireObject | undefined {
    const inline = inlineValueOf(value)
    if (inline === undefined || !isOffloaded(rule, inline)) return undefined
    const where = [place, ...path].filter((part) => part !== '').join('.')
    const bytes = inline.decode()
    if (bytes === undefined) throw refuse(where, unreadable(inline))
    const type = typeOf(inline, where)
    const { restoredAs, kind } = inline
    const reference: WireObject = {
      _bt: restoredAs,
      ref: '',
      size: bytes.length,
      ...(kind === 'binary' ? {} : { ct: type }),
    }
    const hash = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
    values.push({ bytes, hash, type, path, reference })
    return reference
  }

  visit(object, [])
  if (values.length > 0) setOwn(object, '_hasBlobRefs', 1)
  return values
}

/** Clients look into objects and arrays, and into nothing that is typed or a BlobRef already. */
function isEntered(value: unknown): value is WireObject | unknown[] {
  if (Array.isArray(value)) return true
  return (
    isRecord(value) &&
    typeof getOwn(value, '$t') !== 'string' &&
    typeof getOwn(value, '_bt') !== 'string'
  )
}

function typeOf({ type }: InlineValue, where: string): string {
  try {
    return requireBlobType(type)
  } catch (error) {
    throw refuse(where, error instanceof Error ? error.message : String(error))
  }
}

function unreadable({ restoredAs, kind }: InlineValue): string {
  const form = kind === 'file' ? 'base64' : 'b64lex, a whole number of elements'
  return `The "v" of a ${restoredAs} must be its bytes in ${form}`
}

function refuse(where: string, problem: string): SatchelError {
  return unprocessable(`${quoted(where)}: ${problem}`, where.slice(0, 100))
}
