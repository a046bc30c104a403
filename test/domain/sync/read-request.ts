import type { WriteLimits } from '../../../src/domain/object/limits'
import { readSyncRequest } from '../../../src/domain/sync/read-request'
import type { SyncRequest } from '../../../src/domain/sync/request'

/** A request may write anything. */
export const UNLIMITED: WriteLimits = {
  maxObjects: Infinity,
  maxRows: Infinity,
  maxEntries: Infinity,
  maxRequestEntries: Infinity,
  maxProperties: Infinity,
  maxDepth: Infinity,
}

export function readRequest(body: unknown): SyncRequest {
  return readSyncRequest(body, UNLIMITED)
}
