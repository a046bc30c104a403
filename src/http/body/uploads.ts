import { createLedger } from '../../limits/ledger'
import { tooMany } from './arrivals'

/** Uploads that stream to the disk at the same time, of all senders, in bytes (design.md §6). */
const BUDGET_BYTES = 64 * 1024 * 1024
/** The budget of one sender: enough for a hundred uploads at once, and less than all of it. */
const BUDGET_BYTES_OF_SENDER = 56 * 1024 * 1024
/** The memory of a slow upload, whose chunks are small, and of a fast one. */
const SLOW_UPLOAD_BYTES = 64 * 1024
const FAST_UPLOAD_BYTES = 512 * 1024
/** Garbage is collected after this many bytes were uploaded. */
const COLLECT_AFTER_BYTES = 128 * 1024 * 1024

/** The memory of uploads, apart from that of other bodies: one that takes hours must not block those. */
export interface Uploads {
  /** Reserves memory to stream an upload of this sender. Throws `BUSY` when none is left. */
  begin(sender: string): UploadBudget
}

/** The memory of an upload that streams to the disk. Disposing it releases the memory. */
export interface UploadBudget extends Disposable {
  /** Counts the bytes of a chunk. Throws `BUSY` when a fast upload finds no memory left. */
  readonly consume: (bytes: number) => void
}

export function createUploads(ledger = createLedger()): Uploads {
  const account = ledger.open('uploads', {
    most: BUDGET_BYTES,
    mostOfOwner: BUDGET_BYTES_OF_SENDER,
    refuse: tooMany,
  })
  let uploaded = 0

  function collect(bytes: number): void {
    uploaded += bytes
    if (uploaded < COLLECT_AFTER_BYTES) return
    uploaded = 0
    // Chunks that wait for the disk live so long that the collector would keep them.
    Bun.gc(true)
  }

  return {
    begin(sender) {
      const reservation = { owner: sender, bytes: 0 }
      account.reserve(reservation, SLOW_UPLOAD_BYTES)
      return {
        consume(bytes) {
          if (reservation.bytes === SLOW_UPLOAD_BYTES && bytes > SLOW_UPLOAD_BYTES)
            account.reserve(reservation, FAST_UPLOAD_BYTES)
          collect(bytes)
        },
        [Symbol.dispose]: () => account.release(reservation),
      }
    },
  }
}
