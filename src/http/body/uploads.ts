import { createLedger, type Reservation, type Victim } from '../../limits/ledger'
import { tooMany } from './arrivals'

/** Uploads that stream to the disk at the same time, of all senders, in bytes (design.md §6). */
const BUDGET_BYTES = 64 * 1024 * 1024
/** The budget of one sender: enough for a hundred uploads at once, and less than all of it. */
const BUDGET_BYTES_OF_SENDER = 56 * 1024 * 1024
/** The memory of a slow upload, whose chunks are small, and of a fast one. */
const SLOW_UPLOAD_BYTES = 64 * 1024
const FAST_UPLOAD_BYTES = 512 * 1024
/** An upload may be cut in favour of others when its sender was waited for longer than this, ms … */
const CUT_AFTER_MS = 30_000
/** … and has sent more slowly than this, bytes per second. */
const MIN_BYTES_PER_SECOND = 64 * 1024
/** Garbage is collected after this many bytes were uploaded. */
const COLLECT_AFTER_BYTES = 128 * 1024 * 1024

/** The memory of uploads, apart from that of other bodies: one that takes hours must not block those. */
export interface Uploads {
  /**
   * Reserves memory to stream an upload of this sender; `cut` ends it in favour of others. Throws `BUSY` when none is
   * left and no upload is slow.
   */
  begin(sender: string, cut: () => void): UploadBudget
}

/** The memory of an upload that streams to the disk. Disposing it releases the memory. */
export interface UploadBudget extends Disposable {
  /** Called when the next bytes are waited for: time in which the disk is busy is not the sender's. */
  readonly await: () => void
  /** Counts the bytes of a chunk. Throws `BUSY` when a fast upload finds no memory left. */
  readonly consume: (bytes: number) => void
}

interface Upload extends Reservation {
  /** `performance.now()` when its sender was asked for more; absent: its bytes are on their way to the disk. */
  waitsSince: number | undefined
  /** How long its sender was waited for before, ms. */
  waited: number
  received: number
  /** Ends the upload and releases its memory. */
  readonly cut: () => void
}

export function createUploads(
  ledger = createLedger(),
  { cutAfterMs = CUT_AFTER_MS } = {},
): Uploads {
  const uploads = new Set<Upload>()
  const account = ledger.open<Upload>('uploads', {
    most: BUDGET_BYTES,
    mostOfOwner: BUDGET_BYTES_OF_SENDER,
    victims: slowest,
    refuse: tooMany,
  })
  let uploaded = 0

  function slowest(upload: Upload): Victim[] {
    const now = performance.now()
    const waited = (other: Upload) => other.waited + now - (other.waitsSince ?? now)
    const rateOf = (other: Upload) => (other.received * 1_000) / waited(other)
    return [...uploads]
      .filter((other) => other !== upload && other.waitsSince !== undefined)
      .filter((other) => waited(other) >= cutAfterMs && rateOf(other) < MIN_BYTES_PER_SECOND)
      .toSorted((one, other) => rateOf(one) - rateOf(other))
  }

  function release(upload: Upload): void {
    uploads.delete(upload)
    account.release(upload)
  }

  function collect(bytes: number): void {
    uploaded += bytes
    if (uploaded < COLLECT_AFTER_BYTES) return
    uploaded = 0
    // Chunks that wait for the disk live so long that the collector would keep them.
    Bun.gc(true)
  }

  return {
    begin(sender, cut) {
      const upload: Upload = {
        owner: sender,
        bytes: 0,
        waitsSince: undefined,
        waited: 0,
        received: 0,
        cut() {
          release(upload)
          cut()
        },
      }
      account.reserve(upload, SLOW_UPLOAD_BYTES)
      uploads.add(upload)
      return {
        await: () => void (upload.waitsSince = performance.now()),
        consume(bytes) {
          const now = performance.now()
          upload.waited += now - (upload.waitsSince ?? now)
          upload.waitsSince = undefined
          upload.received += bytes
          if (upload.bytes === SLOW_UPLOAD_BYTES && bytes > SLOW_UPLOAD_BYTES)
            account.reserve(upload, FAST_UPLOAD_BYTES)
          collect(bytes)
        },
        [Symbol.dispose]: () => release(upload),
      }
    },
  }
}
