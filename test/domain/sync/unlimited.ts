import type { WriteLimits } from '../../../src/domain/object/limits'

/** A request may write anything. */
export const UNLIMITED: WriteLimits = {
  maxObjects: Infinity,
  maxRows: Infinity,
  maxEntries: Infinity,
  maxRequestEntries: Infinity,
  maxProperties: Infinity,
  maxDepth: Infinity,
}
