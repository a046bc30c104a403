import { accessOf } from '../access/access'
import { type Actor, requireStanding } from '../access/actor'
import { findSharedBlob } from '../access/blob'
import { openBlob } from '../blob/content'
import type { BlobContent, BlobStore } from '../store/blob-store'
import type { StoredBlob } from '../store/blobs'
import type { Database } from '../store/store'
import { mentionsBlobs, parseRef, refOf, refsIn } from '../value/blob'
import { SatchelError } from '../value/error'
import { encodeB64lex } from '../value/inline-value'
import { BINARY_TYPES } from '../value/typed-value'
import { getOwn, isRecord, type WireObject } from '../value/value'

/** The place that the values of an answer come from. */
export interface InlineSource {
  readonly database: Database
  readonly contents: BlobStore
  readonly actor: Actor
  /** Called with the damage of a blob, whose reference stays. */
  readonly report: (damage: SatchelError) => void
}

/** Longer values stay references, bytes: the client parses its whole answer at once. */
export const MAX_INLINE_BYTES = 16 * 1024 * 1024

/** Blobs that one read looks up. */
const BLOBS_PER_READ = 200

/**
 * The entries of an answer (JSON, joined by commas) for a client that does not know BlobRefs, in pieces:
 * bytes, texts and Blobs stand where their references are (protocol.md Appendix C.27). A reference stays when
 * its blob is longer than `MAX_INLINE_BYTES`, damaged, or none that the actor may read. One value at a time
 * is in memory, and of that one chunk.
 */
export async function* inlined(entries: string, source: InlineSource): AsyncGenerator<string> {
  if (!mentionsBlobs(entries)) return yield entries
  const parsed = JSON.parse(`[${entries}]`) as WireObject[]
  const blobs = await findBlobs(source, parsed)
  const mark = crypto.randomUUID()
  const references: Reference[] = []
  const text = JSON.stringify(parsed, (name, value: unknown) => {
    // The property is a note of newer clients to themselves.
    if (name === '_hasBlobRefs') return undefined
    const reference = isRecord(value) ? referenceOf(value, blobs) : undefined
    if (reference === undefined) return value
    references.push(reference)
    return mark
  })
  const [first = '', ...rest] = text.slice(1, -1).split(`"${mark}"`)
  yield first
  for (const [at, after] of rest.entries()) {
    yield* valueOf(references[at]!, source)
    yield after
  }
}

/** A BlobRef whose bytes can stand in its place. */
interface Reference {
  readonly value: WireObject
  readonly blob: StoredBlob
  readonly restoredAs: string
}

function referenceOf(
  value: WireObject,
  blobs: ReadonlyMap<string, StoredBlob>,
): Reference | undefined {
  const blob = blobs.get(refOf(value) ?? '')
  const restoredAs = getOwn(value, '_bt')
  if (blob === undefined || typeof restoredAs !== 'string') return undefined
  const elementBytes =
    restoredAs === 'string' || restoredAs === 'Blob' ? 1 : BINARY_TYPES.get(restoredAs)
  // A client that cannot restore one value cannot read the answer at all.
  if (elementBytes === undefined || blob.size % elementBytes !== 0) return undefined
  return { value, blob, restoredAs }
}

/** The JSON text of the value that a reference stands for (protocol.md §1.2). */
async function* valueOf(
  { value, blob, restoredAs }: Reference,
  source: InlineSource,
): AsyncGenerator<string> {
  const content = await openValue(source, blob)
  if (content === undefined) return yield JSON.stringify(value)
  const bytes = content.stream()
  if (restoredAs === 'string') {
    yield '"'
    for await (const text of bytes.pipeThrough(new TextDecoderStream())) {
      yield JSON.stringify(text).slice(1, -1)
    }
    return yield '"'
  }
  const isBlob = restoredAs === 'Blob'
  yield `{"$t":${JSON.stringify(restoredAs)},"v":"`
  for await (const whole of inTriples(bytes)) {
    yield isBlob ? whole.toString('base64') : encodeB64lex(whole)
  }
  const type = getOwn(value, 'ct')
  yield isBlob ? `","type":${JSON.stringify(typeof type === 'string' ? type : blob.type)}}` : '"}'
}

/** `bytes` in chunks of which each but the last is a multiple of three: their texts in base64 can be joined. */
async function* inTriples(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0)
  for await (const chunk of bytes) {
    const all = Buffer.concat([rest, chunk])
    const whole = all.length - (all.length % 3)
    if (whole > 0) yield all.subarray(0, whole)
    rest = all.subarray(whole)
  }
  if (rest.length > 0) yield rest
}

/** The blobs that the entries refer to and the actor may read, by ref. */
async function findBlobs(
  { database, actor }: InlineSource,
  entries: readonly WireObject[],
): Promise<ReadonlyMap<string, StoredBlob>> {
  const refs = new Set(entries.flatMap((entry) => refsIn(entry).map(({ ref }) => ref)))
  const blobs = new Map<string, StoredBlob>()
  const all = [...refs]
  for (let start = 0; start < all.length; start += BLOBS_PER_READ) {
    await database.read((tx) => {
      requireStanding(tx, actor)
      const access = accessOf(tx, actor)
      for (const ref of all.slice(start, start + BLOBS_PER_READ)) {
        const id = parseRef(ref)
        const blob = id === undefined ? undefined : findSharedBlob(tx, access, id)
        if (blob !== undefined && blob.size <= MAX_INLINE_BYTES) blobs.set(ref, blob)
      }
    })
  }
  return blobs
}

async function openValue(
  { database, contents, report }: InlineSource,
  blob: StoredBlob,
): Promise<BlobContent | undefined> {
  try {
    return await openBlob(database, contents, blob)
  } catch (error) {
    if (!(error instanceof SatchelError)) throw error
    report(error)
    return undefined
  }
}
