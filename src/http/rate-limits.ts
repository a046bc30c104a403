import { type Counter, createCounter, type Quota } from '../limits/counter'
import { createSteadyClock } from '../auth/steady-clock'
import type { Clock } from '../clock'
import { type ErrorCode, SatchelError } from '../domain/value/error'
import { networkOf } from '../net/networks'
import {
  formatTime,
  RATE_LIMIT_NAMES,
  RATE_LIMITS,
  type RateLimit,
  type RateLimitName,
  type RateLimits,
} from '../limits/rate-limits'
import type { Call } from './call'
import type { Host } from '../host/host'

/**
 * Counts what callers do (protocol.md §14.2, promise 37). Whatever counts is told in the headers of
 * the answer, and whatever is one too many throws `TOO_MANY_REQUESTS`.
 */
export interface Limiter {
  /** A request that reads or writes, of this subject or, for null, of the network it comes from. */
  request(call: Call, host: Host, subject: string | null): void
  /** A token that is about to be given to this subject. */
  token(call: Call, host: Host, subject: string): void
  /** A step of a login with a provider, or another page of ours. */
  login(call: Call): void
  /** Counts nothing: refuses to look at more proofs from where too many were wrong. */
  requireTries(call: Call): void
  /** A token request or an access token that was refused: what to tell instead of `error`. */
  failure(call: Call, error: unknown): unknown
}

/** Only while `isOn` says so (design.md §2 Development). */
export function createLimiter(limits: RateLimits, clock: Clock, isOn: () => boolean): Limiter {
  // A clock that is set back must not lock anybody out.
  const steady = createSteadyClock(clock)
  const subjects = createCounters(limits, steady)
  const networks = createCounters(limits, steady)

  function spend(call: Call, name: RateLimitName, host: Host | null, subject: string | null): void {
    if (!isOn()) return
    const isKnown = host !== null && subject !== null
    const counter = (isKnown ? subjects : networks)[name]
    if (counter === undefined) return
    const key = isKnown ? `${host.database.id} ${subject}` : networkOf(call.address)
    requireQuota(call, name, counter.spend(key))
  }

  function requireQuota(call: Call, name: RateLimitName, quota: Quota): void {
    call.quota = quota
    if (quota.isOver) throw tooMany(name, limits[name] ?? RATE_LIMITS[name], quota)
  }

  return {
    request: (call, host, subject) =>
      spend(call, READS.has(call.method) ? 'reads' : 'writes', host, subject),
    token: (call, host, subject) => spend(call, 'tokens', host, subject),
    login: (call) => spend(call, 'logins', null, null),

    requireTries(call) {
      const quota = isOn() ? networks.failures?.look(networkOf(call.address)) : undefined
      if (quota?.isOver === true) requireQuota(call, 'failures', quota)
    },

    failure(call, error) {
      if (!(error instanceof SatchelError) || !FAILURES.has(error.code)) return error
      try {
        spend(call, 'failures', null, null)
        return error
      } catch (oneTooMany) {
        return oneTooMany
      }
    },
  }
}

/** The remainder for the caller, with the reset in seconds for the add-on (protocol.md §4.3). */
export function quotaHeaders({ limit, remaining, reset }: Quota): Record<string, string> {
  return {
    'Ratelimit-Limit': String(limit),
    'Ratelimit-Remaining': String(remaining),
    'Ratelimit-Reset': String(secondsOf(reset)),
  }
}

const READS = new Set(['GET', 'HEAD'])

/** Refusals of a wrong proof, as opposed to a missing permission of a known caller. */
const FAILURES: ReadonlySet<ErrorCode> = new Set([
  'INVALID_TOKEN',
  'INVALID_CLIENT',
  'CLIENT_EXPIRED',
  'INVALID_GRANT',
  'INVALID_OTP',
  'OTP_EXPIRED',
])

type Counters = Readonly<Partial<Record<RateLimitName, Counter>>>

function createCounters(limits: RateLimits, clock: Clock): Counters {
  const limited = RATE_LIMIT_NAMES.flatMap((name) => {
    const limit = limits[name]
    return limit === null ? [] : [[name, createCounter(clock, limit)] as const]
  })
  return Object.fromEntries(limited)
}

function tooMany(
  name: RateLimitName,
  { count, window }: RateLimit,
  { reset }: Quota,
): SatchelError {
  const retryAfter = secondsOf(reset)
  const wait = retryAfter < 120 ? retryAfter * 1000 : Math.ceil(retryAfter / 60) * 60_000
  return new SatchelError(
    'TOO_MANY_REQUESTS',
    `Too many ${RATE_LIMITS[name].what}: the limit is ${count} in ${formatTime(window)}, try again in ${formatTime(wait)}`,
    { retryAfter },
  )
}

/** Whole seconds, rounded up, so that the wait is long enough. */
function secondsOf(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000))
}
