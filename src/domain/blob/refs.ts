import { SatchelError, quoted } from '../value/error'
import { type WireObject, getOwn, isWireObject, parseStored } from '../value/value'
import type { Placement, Writing } from '../object/writing'
import { findSharedBlob } from '../access/blob'
import { parseRef } from '../value/blob'

/** Whether there may be a BlobRef in a canonical text: almost no object gets past this. */
export function mentionsBlobs(text: string): boolean {
  return text.includes('"_bt":')
}

/** The ids of the blobs that an object references, each once, wherever in it (protocol.md §8.3). */
export function blobsIn(object: WireObject): readonly string[] {
  const ids = new Set<string>()
  for (const { ref } of refsIn(object)) {
    const id = parseRef(ref)
    if (id !== undefined) ids.add(id)
  }
  return [...ids]
}

/** Whether there is anything to require: asked of every object that is written. */
export function needsReadableRefs({ isGlobal }: Writing, { draft }: Placement): boolean {
  return !isGlobal && mentionsBlobs(draft.text)
}

/**
 * A reference counts only if its writer may read the blob where it is first written (design.md §5.9):
 * having brought it, or reading a realm with another reference; what a token with `GLOBAL_READ`
 * happens to see is not its subject's to share. References that the object had stay, whoever
 * writes; who writes everything (`GLOBAL_WRITE`) is not asked. Throws `BLOB_NOT_READABLE` naming the property.
 */
export async function requireReadableRefs(
  { tx, access }: Writing,
  { draft, previous }: Placement,
): Promise<void> {
  const known = new Set(previous === undefined ? [] : storedRefs(previous.value))
  for (const { ref, path } of refsIn(draft.object)) {
    if (known.has(ref)) continue
    known.add(ref)
    const id = parseRef(ref)
    if (id === undefined || (await findSharedBlob(tx, access, id)) === undefined) {
      throw notReadable(path)
    }
    await tx.breathe()
  }
}

/** A BlobRef and where it stands: `files.0.image`. */
interface Found {
  readonly ref: string
  readonly path: string
}

function storedRefs(value: string): string[] {
  return mentionsBlobs(value) ? refsIn(parseStored(value)).map(({ ref }) => ref) : []
}

function refsIn(object: WireObject): Found[] {
  const found: Found[] = []
  const path: string[] = []

  function look(value: unknown, name: string): void {
    if (typeof value !== 'object' || value === null) return
    path.push(name)
    enter(value)
    path.pop()
  }

  function enter(value: object): void {
    if (Array.isArray(value)) {
      for (let position = 0; position < value.length; position += 1) {
        // A name is made only for what is entered: there may be a million numbers.
        const element: unknown = value[position]
        if (typeof element === 'object') look(element, String(position))
      }
      return
    }
    const container = value as WireObject
    const ref = refOf(container)
    if (ref !== undefined) found.push({ ref, path: path.join('.') })
    for (const name of Object.keys(container)) look(container[name], name)
  }

  enter(object)
  return found
}

/** The ref of a BlobRef: recognised by string `_bt`, string `ref` and absent `v` (protocol.md §8.3). */
export function refOf(object: WireObject): string | undefined {
  const ref = getOwn(object, 'ref')
  if (typeof ref !== 'string' || typeof getOwn(object, '_bt') !== 'string') return undefined
  const inline = getOwn(object, 'v')
  // What clients read as undefined is absent to them.
  const isAbsent = isWireObject(inline) && getOwn(inline, '$t') === 'undefined'
  return inline === undefined || isAbsent ? ref : undefined
}

function notReadable(path: string): SatchelError {
  const property = path === '' ? 'the object itself' : path
  return new SatchelError(
    'BLOB_NOT_READABLE',
    `${quoted(property)} references a blob that is not there or that you may not read: upload it first, then store the "ref" you get`,
    { reason: property.slice(0, 100) },
  )
}
