import { unprocessable } from '../value/error'
import type { ReadTx, WriteTx } from '../store/store'

/** The limits of blobs in bytes; null for no limit. */
export interface BlobLimits {
  /** One blob. */
  readonly blob: number
  /** All blobs of the database, each with its own size though equal ones are stored once. */
  readonly database: number | null
  /** All uploads of one person; callers with `GLOBAL_WRITE` are exempt. */
  readonly user: number | null
}

/** The limits of a database; absent ones are those of its server. */
export type OwnBlobLimits = Partial<BlobLimits>

export function findOwnBlobLimits(tx: ReadTx): OwnBlobLimits {
  return tx.remember('blob limits', () => {
    const setting = tx.settings.find(SETTING)
    return { ...setting?.value }
  })
}

/** The effective limits. Only the server limits the length of a request. */
export function findBlobLimits(tx: ReadTx, server: BlobLimits): BlobLimits {
  const own = findOwnBlobLimits(tx)
  const limits = { ...server, ...own }
  return { ...limits, blob: Math.min(limits.blob, server.blob) }
}

/** New limits; undefined keeps a limit, `server` restores that of the server. */
export type BlobLimitChanges = {
  readonly [Name in keyof BlobLimits]: BlobLimits[Name] | 'server' | undefined
}

/** Changes the limits of the database. Throws `UNPROCESSABLE`. */
export function changeBlobLimits(tx: WriteTx, changes: BlobLimitChanges): OwnBlobLimits {
  const own: Record<string, number | null> = { ...findOwnBlobLimits(tx) }
  for (const name of NAMES) {
    const limit = changes[name]
    if (limit === undefined) continue
    if (limit === 'server') delete own[name]
    else own[name] = requireLimit(name, limit)
  }
  tx.settings.put({ id: SETTING, value: own })
  return own
}

const SETTING = 'blobs'
const NAMES = ['blob', 'database', 'user'] as const satisfies readonly (keyof BlobLimits)[]

function requireLimit(name: keyof BlobLimits, limit: number | null): number | null {
  const isAny = limit === null && name !== 'blob'
  if (isAny || (limit !== null && Number.isSafeInteger(limit) && limit >= 0)) return limit
  throw unprocessable(`The limit "${name}" must be a whole number of bytes`)
}
