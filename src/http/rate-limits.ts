import { createSteadyClock } from '../auth/steady-clock'
import type { Clock } from '../clock'
import { type ErrorCode, SatchelError } from '../domain/value/error'
import { MINUTE } from '../domain/value/time'
import type { OpenDatabase } from '../host/host'
import { type Counter, createCounter, type Quota } from '../limits/counter'
import {
  formatTime,
  RATE_LIMIT_NAMES,
  RATE_LIMITS,
  type RateLimit,
  type RateLimitName,
  type RateLimits,
} from '../limits/rate-limits'
import { createTurns, type Turns } from '../limits/turns'
import { networkOf } from '../net/networks'
import type { Call } from './call'

/**
 * Counts requests against the rate limits (protocol.md §14.2, promise 37). The answer reports the limit
 * in its headers; exceeding it throws `TOO_MANY_REQUESTS`.
 */
export interface Limiter {
  /** Counts a read or write for this subject; null: for the network of the caller. */
  request(call: Call, opened: OpenDatabase, subject: string | null): void
  /**
   * Counts a sync of one local database of this subject (protocol.md §4.3), and one of all of them; null: of the
   * network of the caller.
   */
  sync(call: Call, opened: OpenDatabase, subject: string | null, identity: string): void
  /**
   * Counts a sync that may be the first one of a device, when it is its turn: clients do not repeat a
   * refused one. Returns the way to take the count back, for a sync that turns out to be a later one.
   * Throws as `Turns.enter`.
   */
  firstSync(call: Call, opened: OpenDatabase, subject: string | null): Promise<() => void>
  /** Counts a call of the documentation or of an unknown address for the network of the caller, once. */
  other(call: Call): void
  /** Counts a token that is about to be issued to this subject. */
  token(call: Call, opened: OpenDatabase, subject: string): void
  /** Counts a step of a login with a provider, or another page. */
  login(call: Call): void
  /**
   * Counts a refused token request or access token; returns the error to answer with. Right ones pass
   * however many were wrong: many callers may share the address of one network or proxy.
   */
  failure(call: Call, error: unknown): unknown
}

/**
 * Counts only while `isOn` returns true (design.md §2 Development), by the time of the database that the
 * call names.
 */
export function createLimiter(
  limits: RateLimits,
  clockOf: (call: Call) => Clock,
  isOn: () => boolean,
): Limiter {
  const countersByClock = new WeakMap<Clock, Counts>()

  function countersOf(time: Clock): Counts {
    const known = countersByClock.get(time)
    if (known !== undefined) return known
    // Callers must not be locked out when the system clock is set back.
    const steady = createSteadyClock(time)
    const [subjects, networks] = [createCounters(limits, steady), createCounters(limits, steady)]
    const made: Counts = {
      subjects,
      networks,
      turnsOfSubjects: subjects.firstSyncs && createTurns(subjects.firstSyncs),
      turnsOfNetworks: networks.firstSyncs && createTurns(networks.firstSyncs),
      syncsOfCallers: createCounter(steady, ofAllDevices(limits.syncs ?? RATE_LIMITS.syncs)),
    }
    countersByClock.set(time, made)
    return made
  }

  function spend(
    call: Call,
    name: RateLimitName,
    opened: OpenDatabase | null,
    subject: string | null,
  ): void {
    if (!isOn()) return
    const isKnown = opened !== null && subject !== null
    const { subjects, networks } = countersOf(opened?.clock ?? clockOf(call))
    const counter = (isKnown ? subjects : networks)[name]
    if (counter === undefined) return
    const quota = isKnown
      ? counter.spend(subject, opened.database.id)
      : counter.spend(networkOf(call.address))
    call.quota = quota
    if (quota.isOver)
      throw tooMany(RATE_LIMITS[name].what, limits[name] ?? RATE_LIMITS[name], quota)
  }

  return {
    request: (call, opened, subject) => spend(call, kindOf(call), opened, subject),
    sync(call, opened, subject, identity) {
      if (!isOn() || limits.syncs === null) return
      const caller = subject ?? networkOf(call.address)
      const scope = subject === null ? '' : opened.database.id
      const { syncsOfCallers } = countersOf(opened.clock)
      const quota = syncsOfCallers.spend(caller, scope)
      if (quota.isOver) {
        call.quota = quota
        throw tooMany('syncs of all devices', ofAllDevices(limits.syncs), quota)
      }
      try {
        spend(call, 'syncs', opened, `${identity} ${caller}`)
      } catch (error) {
        syncsOfCallers.refund(caller, scope)
        throw error
      }
    },
    async firstSync(call, opened, subject) {
      if (!isOn()) return () => undefined
      const { turnsOfSubjects, turnsOfNetworks } = countersOf(opened.clock)
      const [turns, key, scope] =
        subject === null
          ? [turnsOfNetworks, networkOf(call.address), '']
          : [turnsOfSubjects, subject, opened.database.id]
      if (turns === undefined) return () => undefined
      await turns.enter({ key, scope, signal: () => call.sent.signal })
      return () => turns.refund(key, scope)
    },
    other(call) {
      if (call.quota === undefined) spend(call, kindOf(call), null, null)
    },
    token: (call, opened, subject) => spend(call, 'tokens', opened, subject),
    login: (call) => spend(call, 'logins', null, null),

    failure(call, error) {
      if (!(error instanceof SatchelError) || !FAILURES.has(error.code)) return error
      try {
        spend(call, 'failures', null, null)
        return error
      } catch (limitExceeded) {
        return limitExceeded
      }
    },
  }
}

/** The headers that report a limit; the add-on expects seconds (protocol.md §4.3). */
export function quotaHeaders({ limit, remaining, reset }: Quota): Record<string, string> {
  return {
    'Ratelimit-Limit': String(limit),
    'Ratelimit-Remaining': String(remaining),
    'Ratelimit-Reset': String(resetSeconds(reset)),
  }
}

const READS = new Set(['GET', 'HEAD'])

function kindOf({ method }: Call): RateLimitName {
  return READS.has(method) ? 'reads' : 'writes'
}

/** Errors for wrong credentials, as opposed to missing permissions. */
const FAILURES: ReadonlySet<ErrorCode> = new Set([
  'INVALID_TOKEN',
  'INVALID_CLIENT',
  'CLIENT_EXPIRED',
  'INVALID_GRANT',
  'INVALID_OTP',
  'OTP_EXPIRED',
])

interface Counts {
  readonly subjects: Counters
  readonly networks: Counters
  readonly turnsOfSubjects: Turns | undefined
  readonly turnsOfNetworks: Turns | undefined
  readonly syncsOfCallers: Counter
}

/** The limit of the syncs of a caller on all devices, whose names are the caller's words. */
function ofAllDevices({ count, window }: RateLimit): RateLimit {
  return { count: DEVICES_OF_CALLER * count, window }
}

/** So many devices of a user or of a network may sync as often as one may. */
const DEVICES_OF_CALLER = 20

type Counters = Readonly<Partial<Record<RateLimitName, Counter>>>

function createCounters(limits: RateLimits, clock: Clock): Counters {
  const limited = RATE_LIMIT_NAMES.flatMap((name) => {
    const limit = limits[name]
    return limit === null ? [] : [[name, createCounter(clock, limit)] as const]
  })
  return Object.fromEntries(limited)
}

function tooMany(what: string, { count, window }: RateLimit, { reset }: Quota): SatchelError {
  const retryAfter = resetSeconds(reset)
  const wait = retryAfter < 120 ? retryAfter * 1000 : Math.ceil(retryAfter / 60) * MINUTE
  return new SatchelError(
    'TOO_MANY_REQUESTS',
    `Too many ${what}: the limit is ${count} in ${formatTime(window)}, try again in ${formatTime(wait)}`,
    { retryAfter },
  )
}

/** Whole seconds of ms, rounded up so that waiting this long is enough. */
export function resetSeconds(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000))
}
