import { tooMany } from './arrivals'

/** Uploads that stream to the disk at the same time, of all senders, in bytes (design.md §6). */
const BUDGET = 64 * 1024 * 1024
/** The budget of one sender: enough for a hundred uploads at once, and less than all of it. */
const BUDGET_OF_SENDER = 56 * 1024 * 1024
/** The memory of a slow upload, whose chunks are small, and of a fast one. */
const SLOW = 64 * 1024
const FAST = 512 * 1024
/** Garbage is collected after this many bytes were uploaded. */
const COLLECT_AFTER = 128 * 1024 * 1024

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

export function createUploads(): Uploads {
  let memoryOfAll = 0
  const memoryBySender = new Map<string, number>()
  let uploaded = 0

  function collect(bytes: number): void {
    uploaded += bytes
    if (uploaded < COLLECT_AFTER) return
    uploaded = 0
    // Chunks that wait for the disk live so long that the collector would keep them.
    Bun.gc(true)
  }

  return {
    begin(sender) {
      let memory = 0
      const reserve = (to: number) => {
        const ofSender = (memoryBySender.get(sender) ?? 0) + to - memory
        if (ofSender > BUDGET_OF_SENDER || memoryOfAll + to - memory > BUDGET) throw tooMany()
        memoryBySender.set(sender, ofSender)
        memoryOfAll += to - memory
        memory = to
      }
      reserve(SLOW)
      return {
        consume(bytes) {
          if (memory === SLOW && bytes > SLOW) reserve(FAST)
          collect(bytes)
        },
        [Symbol.dispose]() {
          memoryOfAll -= memory
          const ofSender = (memoryBySender.get(sender) ?? 0) - memory
          if (ofSender > 0) memoryBySender.set(sender, ofSender)
          else memoryBySender.delete(sender)
          memory = 0
        },
      }
    },
  }
}
