import { MINUTE, HOUR, SECOND, DAY } from '../domain/value/time'

/** A number of requests in a window of time that begins with the first. */
export interface RateLimit {
  readonly count: number
  /** ms */
  readonly window: number
}

export type RateLimitName = keyof typeof RATE_LIMITS

/** Null means no limit. */
export type RateLimits = Readonly<Record<RateLimitName, RateLimit | null>>

interface LimitFacts extends RateLimit {
  /** The counted things, as a refusal names them. */
  readonly what: string
  /** For the documentation: the counted requests, and the unit they are counted for. */
  readonly counts: string
  readonly per: string
}

const CALLER = 'user or client of a database; network without a token'

/** The default rate limits (protocol.md §14.2, promise 37). */
export const RATE_LIMITS = {
  reads: {
    count: 200,
    window: MINUTE,
    what: 'requests that read',
    counts: '`GET` and `HEAD` of data, users, public keys, `/openapi` and unknown addresses',
    per: CALLER,
  },
  writes: {
    count: 100,
    window: MINUTE,
    what: 'requests that write',
    counts: 'other methods for data, users and unknown addresses',
    per: CALLER,
  },
  syncs: {
    count: 600,
    window: MINUTE,
    what: 'syncs',
    counts: '`POST /sync`, except the first one of a user on a device',
    per: 'device of a user; device without a token; twenty times as many for all devices of a user, or of a network',
  },
  firstSyncs: {
    count: 100,
    window: MINUTE,
    what: 'first syncs',
    counts: 'the first `POST /sync` of a user on a device; further syncs wait and get no `429`',
    per: CALLER,
  },
  tokens: {
    count: 100,
    window: HOUR,
    what: 'tokens',
    counts: 'issued tokens',
    per: 'user or client of a database',
  },
  logins: {
    count: 300,
    window: MINUTE,
    what: 'visits from this network',
    counts: 'requests to `/auth-providers`, `/oauth/…` and `/invitation`',
    per: 'network',
  },
  failures: {
    count: 100,
    window: MINUTE,
    what: 'failed attempts from this network',
    counts: 'invalid tokens, secrets, codes and signatures',
    per: 'network',
  },
} as const satisfies Record<string, LimitFacts>

export const RATE_LIMIT_NAMES = Object.keys(RATE_LIMITS) as RateLimitName[]

/**
 * Reads `on`, `off`, or the differences from the table: `reads=1000/1m,logins=off`. Undefined for any
 * other text.
 */
export function parseRateLimits(text: string): RateLimits | undefined {
  if (text === 'on') return RATE_LIMITS
  if (text === 'off') return fill(() => null)
  const given = new Map<string, RateLimit | null>()
  for (const part of text.split(',')) {
    const [name = '', value = '', ...rest] = part.trim().split('=')
    const limit = value === 'off' ? null : parseLimit(value)
    if (limit === undefined || rest.length > 0 || given.has(name)) return undefined
    if (!Object.hasOwn(RATE_LIMITS, name)) return undefined
    given.set(name, limit)
  }
  return fill((name) => given.get(name) ?? (given.has(name) ? null : RATE_LIMITS[name]))
}

/** A time in ms as words: `10 minutes`. */
export function formatTime(time: number): string {
  const unit = unitOf(time)
  const count = time / unit.length
  return `${count} ${unit.word}${count === 1 ? '' : 's'}`
}

const UNITS = [
  { letter: 'h', word: 'hour', length: HOUR },
  { letter: 'm', word: 'minute', length: MINUTE },
  { letter: 's', word: 'second', length: SECOND },
] as const

/** The largest unit of which the time is a whole number. */
function unitOf(time: number): (typeof UNITS)[number] {
  return UNITS.find(({ length }) => time % length === 0) ?? UNITS[2]
}

/** Reads `200/1m` or `200/m`, up to a day. */
function parseLimit(text: string): RateLimit | undefined {
  const [, countText, timeText, letter] = /^(\d{1,9})\/(\d{0,5})([hms])$/.exec(text) ?? []
  const unit = UNITS.find((candidate) => candidate.letter === letter)
  if (unit === undefined) return undefined
  const count = Number(countText)
  const window = (timeText === '' ? 1 : Number(timeText)) * unit.length
  return count > 0 && window > 0 && window <= DAY ? { count, window } : undefined
}

function fill(limitOf: (name: RateLimitName) => RateLimit | null): RateLimits {
  const entries = RATE_LIMIT_NAMES.map((name) => [name, limitOf(name)] as const)
  return Object.fromEntries(entries) as RateLimits
}
