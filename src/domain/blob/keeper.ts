import type { Clock } from '../../clock'
import { collectBlobs, removeSpent } from './collection'
import type { BlobStore } from '../store/blob-store'
import type { Database } from '../store/store'
import { HOUR } from '../value/time'

/** Removes blobs and bytes in the background once no object needs them. */
export interface BlobKeeper extends AsyncDisposable {
  /** Collects now, after the work under way, with or without the duty. */
  collect(): Promise<void>
  /** Resolves when all bytes that are known to be unused are removed. */
  idle(): Promise<void>
}

export interface BlobKeeperParts {
  readonly database: Database
  readonly bytes: BlobStore
  readonly clock: Clock
  /** Called with errors; the next collection tries again. */
  readonly report: (error: unknown) => void
  /** How often to look for blobs whose grace period is over, ms. */
  readonly every?: number
  /** How long the bytes at a spent place stay for readers who were just given it, ms. */
  readonly delay?: number
}

/** Works while its database is open and this process has the duty `blobs`. */
export function createBlobKeeper(parts: BlobKeeperParts): BlobKeeper {
  const { database, bytes, clock, report, every = HOUR, delay = 1_000 } = parts
  let isStopped = false
  let isCalled = false
  let working = Promise.resolve()
  const stop = Promise.withResolvers<void>()
  const goesOn = () => !isStopped

  function inTurn(work: () => Promise<unknown>): Promise<void> {
    working = working.then(() => (isStopped ? undefined : work())).then(() => undefined, report)
    return working
  }

  const collect = () => inTurn(() => collectBlobs(database, bytes, clock.now(), { goesOn }))
  const duty = database.duty('blobs', () => void collect())
  const unsubscribe = database.onCommit(({ contentSpent }) => {
    if (!contentSpent || isCalled || !duty.isMine) return
    isCalled = true
    void inTurn(async () => {
      await Promise.race([Bun.sleep(delay), stop.promise])
      isCalled = false
      if (!isStopped) await removeSpent(database, bytes, goesOn)
    })
  })
  const timer = setInterval(() => duty.isMine && void collect(), every)
  timer.unref()
  return {
    collect,
    async idle() {
      for (let last; last !== working; await last) last = working
    },
    async [Symbol.asyncDispose]() {
      isStopped = true
      stop.resolve()
      clearInterval(timer)
      unsubscribe()
      await working
      await duty[Symbol.asyncDispose]()
    },
  }
}
