import { SatchelError, quoted } from '../value/error'
import { type WireObject, getOwn, isWireObject, setOwn } from '../value/value'
import { requireBlobType } from '../value/blob'
import { type InlineValue, inlineValueOf } from '../value/inline-value'
import { type OffloadRule, isOffloaded } from './offload-rule'
import type { Table } from '../store/tables'

/** A value that was taken out of an object. */
export interface Taken {
  readonly bytes: Uint8Array
  /** SHA-256 of the bytes in hex. */
  readonly hash: string
  /** The content type of the blob. */
  readonly type: string
  /** The names on the way to it. */
  readonly path: readonly string[]
  /** The BlobRef in its place, the `ref` of which is to be said (protocol.md §8.3). */
  readonly reference: WireObject
}

/**
 * Takes what a rule calls large out of an object, wherever in its objects and arrays, and marks it
 * as one with BlobRefs. What the key or an index is made of, the realm and the owner stay, and so does
 * everything in the built-in tables: the server itself reads those. Throws `UNPROCESSABLE` for a
 * value without readable bytes; `place` is where the object stands in the request.
 */
export function takeLarge(
  rule: OffloadRule,
  table: Table,
  object: unknown,
  place: string,
): readonly Taken[] {
  if (table.builtIn || !isWireObject(object)) return []
  const kept = new Set([
    'realmId',
    'owner',
    ...(table.primaryKey ?? []),
    ...table.indexes.flatMap(({ paths }) => paths),
  ])
  const taken: Taken[] = []

  function visit(container: WireObject | unknown[], path: readonly string[]): void {
    for (const [name, value] of Object.entries(container)) {
      const inner = [...path, name]
      if (kept.has(inner.join('.'))) continue
      const reference = takeOne(value, inner)
      if (reference !== undefined) {
        if (Array.isArray(container)) container[Number(name)] = reference
        else setOwn(container, name, reference)
      } else if (isEntered(value)) visit(value, inner)
    }
  }

  function takeOne(value: unknown, path: readonly string[]): WireObject | undefined {
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
    taken.push({ bytes, hash, type, path, reference })
    return reference
  }

  visit(object, [])
  if (taken.length > 0) setOwn(object, '_hasBlobRefs', 1)
  return taken
}

/** Clients look into objects and arrays, and into nothing that is typed or a BlobRef already. */
function isEntered(value: unknown): value is WireObject | unknown[] {
  if (Array.isArray(value)) return true
  return (
    isWireObject(value) &&
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
  return new SatchelError('UNPROCESSABLE', `${quoted(where)}: ${problem}`, {
    reason: where.slice(0, 100),
  })
}
