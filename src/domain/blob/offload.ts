import type { Actor } from '../access/actor'
import { SatchelError } from '../value/error'
import { randomToken } from '../value/id'
import type { StoredObject } from '../store/objects'
import type { Draft } from '../object/draft'
import { type WireObject, getOwn, isWireObject, parseStored } from '../value/value'
import type { WriteTx } from '../store/store'
import { parseRef, refOf } from '../value/blob'
import type { BlobLimits } from './limits'
import type { OffloadRule } from './offload-rule'
import type { Arrival, BlobStore } from '../store/blob-store'
import { type Taken, takeLarge } from './taken'
import { noteBlob } from './upload'
import type { Table } from '../store/tables'

/** What values are offloaded with. */
export interface Offloading {
  /** Where the bytes go. */
  readonly contents: BlobStore
  readonly limits: BlobLimits
  /** Of databases that have no rule of their own. */
  readonly rule: OffloadRule
}

/** The large values of one request on their way out of its objects (protocol.md §8.2, §8.3). */
export interface Offload {
  /**
   * Takes them out of an object, `path` being where that is. Throws `UNPROCESSABLE`, and
   * `PAYLOAD_TOO_LARGE` when there are too many.
   */
  take(table: Table, object: unknown, path: string): readonly Taken[]
  /** Says what became of an object. */
  note(draft: Draft, taken: readonly Taken[]): void
  /**
   * Brings the bytes into the store and runs `record`, before the end of which nobody removes them;
   * when it throws, they go.
   */
  keep<T>(record: () => Promise<T>): Promise<T>
  /**
   * The draft with refs that name blobs, in the unit that stores it: the refs that the object had
   * for the same bytes, or those of new blobs, which the actor brings. Throws what `noteBlob` throws.
   */
  settle(tx: WriteTx, draft: Draft, previous: StoredObject | undefined): Promise<Draft>
}

/** `now` in ms: when new blobs were brought. */
export function createOffload(
  { contents, limits }: Offloading,
  rule: OffloadRule,
  actor: Actor,
  now: number,
): Offload {
  const takenByDraft = new Map<Draft, readonly Taken[]>()
  let count = 0

  function newRef(tx: WriteTx, { hash, bytes, type }: Taken): Promise<string> {
    const blob = { id: randomToken(18), hash, size: bytes.length, type, created: now }
    return noteBlob(tx, actor, blob, limits)
  }

  async function isSame(tx: WriteTx, ref: string, taken: Taken): Promise<boolean> {
    const blob = await tx.blobs.find(parseRef(ref) ?? '')
    return blob?.hash === taken.hash && blob.type === taken.type
  }

  return {
    take(table, object, path) {
      const taken = takeLarge(rule, table, object, path)
      count += taken.length
      if (count > MOST) throw tooMany()
      return taken
    },

    note(draft, taken) {
      if (taken.length > 0) takenByDraft.set(draft, taken)
    },

    async keep(record) {
      await using received = new AsyncDisposableStack()
      const all = [...takenByDraft.values()].flat()
      const bytesByHash = new Map(all.map(({ hash, bytes }) => [hash, bytes]))
      const kept: Arrival[] = []
      for (const bytes of bytesByHash.values()) {
        kept.push(received.use(await contents.receive(inOnePiece(bytes), ANY_ROOM)))
      }
      const keepFrom = (index: number): ReturnType<typeof record> =>
        kept[index]?.keep(() => keepFrom(index + 1)) ?? record()
      return await keepFrom(0)
    },

    async settle(tx, draft, previous) {
      const all = takenByDraft.get(draft)
      if (all === undefined) return draft
      const before = previous === undefined ? undefined : parseStored(previous.value)
      for (const taken of all) {
        const known = refAt(before, taken.path)
        const isKnown = known !== undefined && (await isSame(tx, known, taken))
        taken.reference['ref'] = isKnown ? known : await newRef(tx, taken)
        await tx.breathe()
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
  return isWireObject(value) ? refOf(value) : undefined
}

/** Each is a file that is made durable: no request may keep the disk busy for minutes. */
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

/** A body holds little beside a blob, and the quotas are asked when it is noted. */
const ANY_ROOM = {
  bytes: Number.POSITIVE_INFINITY,
  refuse: () => new SatchelError('PAYLOAD_TOO_LARGE', 'The value is too large'),
}
