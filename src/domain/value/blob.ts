import { SatchelError } from './error'

/** Binary data beside the objects that reference it (spec.md §2.7, protocol.md §8). Its bytes never change. */
export interface Blob {
  /** Chosen by the client that uploaded it. */
  readonly id: string
  /** SHA-256 of the bytes in hex, 64 characters: the name under which they lie in the blob store. */
  readonly hash: string
  /** In bytes. */
  readonly size: number
  /** The content type, as it was given. */
  readonly type: string
  /** When it was first uploaded, ms. */
  readonly created: number
}

/**
 * The id of a blob as an address has it, decoded: 1–128 letters, digits and `_ - . ~ |`, which are
 * those of b64lex and of hex ids (protocol.md §1.3, §8.1). Throws `INVALID_REQUEST`.
 */
export function requireBlobId(text: string): string {
  if (isBlobId(text)) return text
  throw new SatchelError(
    'INVALID_REQUEST',
    'The id of a blob is 1 to 128 letters, digits and _ - . ~ |, and not "." or ".."',
  )
}

/**
 * The content type of a blob from outside: it becomes a header, and is for its bytes to say where it
 * is empty. Throws `INVALID_REQUEST`.
 */
export function requireBlobType(text: string): string {
  const type = text.replaceAll(/^ +| +$/g, '')
  if (type === '') return DEFAULT_TYPE
  if (type.length <= LONGEST_TYPE && /^[ -~]+$/.test(type)) return type
  throw new SatchelError(
    'INVALID_REQUEST',
    `A content type has at most ${LONGEST_TYPE} characters, printable ones of ASCII`,
  )
}

const LONGEST_TYPE = 255
const DEFAULT_TYPE = 'application/octet-stream'

/** What objects hold to name a blob: `<version>:<blobId>` (spec.md §2.7). */
export function formatRef(id: string): string {
  return `${VERSION}:${id}`
}

/** The id in a ref, or undefined for a text that names no blob of ours. */
export function parseRef(ref: string): string | undefined {
  const [version, id, ...rest] = ref.split(':')
  return version === VERSION && id !== undefined && rest.length === 0 && isBlobId(id)
    ? id
    : undefined
}

/** Names the way blobs are stored: there is one. */
const VERSION = '1'

function isBlobId(text: string): boolean {
  return /^[\w.~|-]{1,128}$/.test(text) && text !== '.' && text !== '..'
}
