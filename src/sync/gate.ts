import type { Clock } from '../clock'
import { SatchelError } from '../domain/value/error'
import { FIXED_LIMITS } from '../domain/value/fixed-limits'
import { MINUTE, SECOND } from '../domain/value/time'
import { createCounter } from '../limits/counter'

/**
 * Lets clients open live connections, except those whose frames have just cost others too much. Published
 * clients wait for their user after a refused upgrade, but come back at once after a closed socket.
 */
export type Gate = ReturnType<typeof createGate>

/** The client that asks for a live connection. */
export interface Visitor {
  /** Names its user among those of all databases; null for an anonymous client. */
  readonly user: string | null
  readonly identity: string
  readonly network: string
}

type Frame = string | Uint8Array

/** What the gate is told of one socket. */
export interface Ticket {
  opened(): void
  /** False when the socket has sent too much lately: the frame has to be dropped. */
  admits(frame: Frame): boolean
  /** A frame was dropped. True when the socket has to be closed. */
  dropped(frame: Frame): boolean
  /** `isTooLarge`: because of a frame beyond the limit. */
  closed(isTooLarge: boolean): void
}

const { networkFrames, userFrames, anonymousSockets } = FIXED_LIMITS

/** How many messages a socket may send at once, and for how long: a real one sends one per second. */
const MAX_BURST = 60
const MESSAGES_PER_SECOND = 10
/** A frame counts once more for each of these, in characters or bytes. */
const FRAME_UNIT = 64 * 1024

/** `clock` must not go back. */
export function createGate(clock: Clock) {
  const byNetwork = createCounter(clock, { count: networkFrames.most, window: MINUTE })
  const byUser = createCounter(clock, { count: userFrames.most, window: MINUTE })
  const large = createCounter(clock, { count: 1, window: MINUTE })
  const openByNetwork = new Map<string, number>()

  return {
    /** Throws `TOO_MANY_REQUESTS`. */
    enter({ user, identity, network }: Visitor): Ticket {
      const [drops, key] = user === null ? [byNetwork, network] : [byUser, user]
      const client = user === null ? network : `${user}\n${identity}`
      for (const { isOver, reset } of [drops.look(key), large.look(client)]) {
        if (isOver) throw tooMany('This client has just sent more than it may', reset)
      }
      const count = (by: number) => {
        if (user !== null) return
        const open = (openByNetwork.get(network) ?? 0) + by
        if (open > 0) openByNetwork.set(network, open)
        else openByNetwork.delete(network)
      }
      if (user === null && (openByNetwork.get(network) ?? 0) >= anonymousSockets.most) {
        const sentence = `${anonymousSockets.most} live connections of this network are open without a token`
        throw tooMany(sentence, MINUTE)
      }
      let allowance = MAX_BURST
      let countedAt = 0
      return {
        opened: () => count(1),
        admits(frame) {
          const now = clock.now()
          const earned = (Math.max(0, now - countedAt) / SECOND) * MESSAGES_PER_SECOND
          allowance = Math.min(MAX_BURST, allowance + earned)
          countedAt = now
          if (allowance < weightOf(frame)) return false
          allowance -= weightOf(frame)
          return true
        },
        dropped(frame) {
          for (let spent = 1; spent < weightOf(frame); spent += 1) drops.spend(key)
          return drops.spend(key).isOver
        },
        closed(isTooLarge) {
          count(-1)
          if (isTooLarge) large.spend(client)
        },
      }
    },
  }
}

function weightOf(frame: Frame): number {
  return 1 + Math.floor(frame.length / FRAME_UNIT)
}

function tooMany(sentence: string, wait: number): SatchelError {
  const retryAfter = Math.max(1, Math.ceil(wait / 1000))
  return new SatchelError(
    'TOO_MANY_REQUESTS',
    `${sentence}: new ones are refused, try again in ${retryAfter} seconds`,
    { retryAfter },
  )
}
