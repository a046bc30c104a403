/** How far a token may reach, in seconds (design.md §4). */
export interface TokenLimits {
  /** The longest life a token may ask for. */
  readonly maxExpiresIn: number
  /** How far ahead a token may begin. */
  readonly maxNotBefore: number
  /** How wrong the clock of a client may be when it signs a refresh (promise 11). */
  readonly maxClockSkew: number
}

const DAY = 24 * 60 * 60

export const DEFAULT_LIMITS: TokenLimits = {
  maxExpiresIn: DAY,
  maxNotBefore: DAY,
  maxClockSkew: DAY,
}

/** How long after its last signature a key can still be needed, ms. */
export function longestReach({ maxExpiresIn, maxNotBefore }: TokenLimits): number {
  // Tokens made before the limits were lowered count too.
  const seconds = Math.max(maxExpiresIn + maxNotBefore, 2 * DAY)
  return seconds * 1000
}
