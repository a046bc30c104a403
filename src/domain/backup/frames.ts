import { NEWLINE } from '../json/bytes'
import type { CopyFacts, ErasedUser, StoredContent } from '../store/copy'

// A backup on its way between the process that has the database and the one that writes or reads files.

/** The beginning of a part; `size` bytes follow unless it says otherwise. */
export type FrameHead =
  | {
      readonly kind: 'database'
      readonly name: string
      readonly facts: CopyFacts
      readonly key: KeyFacts
    }
  /** Below the folder of the last database, or of the server before the first. */
  | { readonly kind: 'file'; readonly path: string; readonly size: number }
  /** Users of the last database that were deleted before it was copied, or after a backup of it was made. */
  | { readonly kind: 'erased'; readonly users: readonly ErasedUser[] }
  /** Without bytes when the receiver has them, or when nobody has. */
  | ({ readonly kind: 'blob'; readonly state: BlobFrameState } & StoredContent)

export type BlobFrameState = 'sent' | 'known' | 'damaged'

/** The key that seals secrets of a database. */
export interface KeyFacts {
  /** `external`: it is in the settings, and belongs to no backup. */
  readonly place: 'file' | 'external'
  /** In hex; equal for equal keys, and tells nothing else of them. */
  readonly proof: string
}

export function writeHead(head: FrameHead): Uint8Array {
  return Buffer.from(`${JSON.stringify(head)}\n`)
}

function sizeOf(head: FrameHead): number {
  if (head.kind === 'file') return head.size
  return head.kind === 'blob' && head.state === 'sent' ? head.size : 0
}

/** Takes the parts as they come; a call waits for the one before. */
export interface FrameTaker {
  begin(head: FrameHead): Promise<void>
  bytes(piece: Uint8Array): Promise<void>
  end(): Promise<void>
}

/** Longer heads are none of ours. */
const LONGEST_HEAD = 64 * 1024

/** Takes a stream of parts apart, however it is cut. `close` throws when the last part is not complete. */
export function createFrameReader(taker: FrameTaker) {
  let line: Buffer[] = []
  let missing = 0
  let isOpen = false

  async function push(bytes: Uint8Array): Promise<void> {
    for (let rest = bytes; rest.length > 0;) {
      if (isOpen) {
        const part = rest.subarray(0, missing)
        missing -= part.length
        rest = rest.subarray(part.length)
        await taker.bytes(part)
      } else {
        rest = await readHead(rest)
      }
      if (isOpen && missing === 0) {
        isOpen = false
        await taker.end()
      }
    }
  }

  async function readHead(bytes: Uint8Array): Promise<Uint8Array> {
    const end = bytes.indexOf(NEWLINE)
    line.push(Buffer.from(bytes.subarray(0, end < 0 ? bytes.length : end)))
    const length = line.reduce((sum, part) => sum + part.length, 0)
    if (length > LONGEST_HEAD) throw new Error('a part of a backup has no beginning')
    if (end < 0) return NOTHING
    const head = JSON.parse(Buffer.concat(line).toString('utf8')) as FrameHead
    line = []
    missing = sizeOf(head)
    if (!Number.isSafeInteger(missing) || missing < 0) throw new Error('a part has no size')
    isOpen = true
    await taker.begin(head)
    return bytes.subarray(end + 1)
  }

  return {
    push,
    close() {
      if (isOpen || line.length > 0) throw new Error('a backup was cut off on its way')
    },
  }
}

const NOTHING = new Uint8Array()
