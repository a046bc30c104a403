import { invalidRequest } from './error'
import { type WireObject, getOwn, isRecord } from './value'

/**
 * The id of a blob as an address has it, decoded: 1–128 letters, digits and `_ - . ~ |`, which are
 * those of b64lex and of hex ids (protocol.md §1.3, §8.1). Throws `INVALID_REQUEST`.
 */
export function requireBlobId(text: string): string {
  if (isBlobId(text)) return text
  throw invalidRequest(
    'The id of a blob must be 1 to 128 letters, digits and _ - . ~ |, and not "." or ".."',
  )
}

/**
 * The content type of a blob from outside: it becomes a header; an empty one becomes the type of
 * plain bytes. Throws `INVALID_REQUEST`.
 */
export function requireBlobType(text: string): string {
  const type = withoutBlanks(text)
  if (type === '') return DEFAULT_TYPE
  if (type.length <= LONGEST_TYPE && /^[ -~]+$/.test(type)) return type
  throw invalidRequest(
    `A content type must be at most ${LONGEST_TYPE} characters of printable ASCII`,
  )
}

/** The text without blanks at its ends. */
function withoutBlanks(text: string): string {
  let begin = 0
  let end = text.length
  while (text[begin] === ' ') begin++
  while (end > begin && text[end - 1] === ' ') end--
  return text.slice(begin, end)
}

const LONGEST_TYPE = 255
const DEFAULT_TYPE = 'application/octet-stream'

/** The name of a blob in objects: `<version>:<blobId>` (spec.md §2.7). */
export function formatRef(id: string): string {
  return `${VERSION}:${id}`
}

/** The id in a ref, or undefined for a text that is not a valid ref. */
export function parseRef(ref: string): string | undefined {
  const [version, id, ...rest] = ref.split(':')
  return version === VERSION && id !== undefined && rest.length === 0 && isBlobId(id)
    ? id
    : undefined
}

/** The version of the format of refs: there is only one. */
const VERSION = '1'

function isBlobId(text: string): boolean {
  return /^[\w.~|-]{1,128}$/.test(text) && text !== '.' && text !== '..'
}

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

/** A BlobRef and where it stands: `files.0.image`. */
interface Found {
  readonly ref: string
  readonly path: string
}

export function refsIn(object: WireObject): Found[] {
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
        // A name is made only for values that are entered: there may be a million numbers.
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

/**
 * The ref of a BlobRef: recognised by string `_bt`, string `ref` and absent `v` (protocol.md §8.3).
 */
export function refOf(object: WireObject): string | undefined {
  const ref = getOwn(object, 'ref')
  if (typeof ref !== 'string' || typeof getOwn(object, '_bt') !== 'string') return undefined
  const inline = getOwn(object, 'v')
  // Clients treat a property that is undefined as absent.
  const isAbsent = isRecord(inline) && getOwn(inline, '$t') === 'undefined'
  return inline === undefined || isAbsent ? ref : undefined
}
