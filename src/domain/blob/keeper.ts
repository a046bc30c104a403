import type { Clock } from '../../clock'
import { collectBlobs, removeStrays } from './collection'
import type { BlobStore } from '../store/blob-store'
import type { Database } from '../store/store'
import { createRests } from '../value/rests'
import { HOUR } from '../value/time'

/** Removes blobs and bytes in the background once no object needs them. */
export type BlobKeeper = ReturnType<typeof createBlobKeeper>

export interface BlobKeeperParts {
  readonly database: Database
  readonly bytes: BlobStore
  readonly clock: Clock
  /** Called with errors; the next collection tries again. */
  readonly report: (error: unknown) => void
  /** How often to look for blobs whose grace period is over, ms. */
  readonly every?: number
  /** How long a file without a blob stays for readers who were just given its name, ms. */
  readonly delay?: number
}

/** Works while its database is open and this process has the duty `blobs`. */
export function createBlobKeeper(parts: BlobKeeperParts) {
  const { database, bytes, clock, report, every = HOUR, delay = 1_000 } = parts
  let isStopped = false
  const left = new Set<string>()
  let isCalled = false
  let working = Promise.resolve()
  const rests = createRests()
  const goesOn = () => !isStopped

  function inTurn(work: () => Promise<unknown>): Promise<void> {
    working = working.then(() => (isStopped ? undefined : work())).then(() => undefined, report)
    return working
  }

  const collect = () =>
    inTurn(async () => {
      await collectBlobs(database, bytes, clock.now(), { goesOn })
      await removeLeft()
    })
  /** The end of a process may have left files without a blob. */
  const sweep = () => inTurn(() => removeStrays(database, bytes, { goesOn }))
  const duty = database.duty('blobs', () => {
    void sweep()
    void collect()
  })
  if (duty.isMine) void sweep()
  const unsubscribe = database.onCommit(({ leftFiles }) => {
    if (leftFiles.length === 0 || !duty.isMine) return
    for (const file of leftFiles) left.add(file)
    if (isCalled) return
    isCalled = true
    void inTurn(async () => {
      await rests.rest(delay)
      isCalled = false
      await removeLeft()
    })
  })

  /** A file that cannot be removed is tried again with the next one, or found at the next start. */
  async function removeLeft(): Promise<void> {
    for (const file of left) {
      if (isStopped) return
      left.delete(file)
      try {
        await bytes.remove(file)
      } catch (error) {
        left.add(file)
        throw error
      }
    }
  }

  const timer = setInterval(() => duty.isMine && void collect(), every)
  timer.unref()
  return {
    /** Collects now, after the work under way, with or without the duty. */
    collect,
    /** Resolves when all bytes that are known to be unused are removed. */
    async idle(): Promise<void> {
      for (let last; last !== working; await last) last = working
    },
    async [Symbol.asyncDispose]() {
      isStopped = true
      rests[Symbol.dispose]()
      clearInterval(timer)
      unsubscribe()
      await working
      await duty[Symbol.asyncDispose]()
    },
  }
}
