import { SatchelError } from '../../domain/value/error'
import { createLedger, type Reservation, type Victim } from '../../limits/ledger'
import { pacedStream, type StreamReservation } from './json-stream'

const MIB = 1024 * 1024

/** Answers that wait for their readers, of all callers and of one, in bytes (design.md §6 fairness). */
const BUDGET_BYTES = 88 * MIB
const BUDGET_BYTES_OF_CALLER = 64 * MIB
/** Answers up to this size are sent as they are: the network accepts most of them at once. */
export const UNCOUNTED_BYTES = 16 * 1024
const MEDIUM_BYTES = 256 * 1024
/** Answers of medium size are counted when so many requests are pending that they could exceed this. */
const BUDGET_BYTES_OF_MEDIUM = 32 * MIB
/** Garbage is collected after this many characters of large answers: the collector underestimates strings. */
const COLLECT_AFTER_CHARACTERS = 24 * MIB
/** An answer may be cut in favour of others when its reader has left what it was given for this long, ms … */
const STALLED_MS = 5_000
/** … or when it has waited for its reader longer than this in all, ms, and more slowly than this, bytes per second. */
const CUT_AFTER_MS = 30_000
const MIN_BYTES_PER_SECOND = 64 * 1024
/** A stream yields its turn when its reader has left a part for this long, ms: a slow one that goes on would begin anew. */
const YIELDS_AFTER_MS = 10_000

/** The memory of all answers that their readers have not accepted yet. */
export interface Unsent {
  /** The memory of one answer, which is none at first. */
  open(owner: AnswerOwner): AnswerReservation
  /** The bytes that are reserved now. */
  readonly reserved: number
}

export interface AnswerOwner {
  /** The caller whose budget is charged. Asked only for answers that are counted. */
  readonly caller: () => string
  /** How many requests the server has not answered completely. */
  readonly pending: () => number
  /** Called when a stream has ended; `reason` says why the reader did not receive all of it. */
  readonly ended: (reason: string | undefined) => void
}

/** The memory of one answer from before it is read until its reader has accepted it. */
export interface AnswerReservation extends StreamReservation {
  /** Reserves memory for an answer of about this many bytes, unless it is small. Throws as `resize`. */
  reserve(bytes: number): void
  /** The text as a body: a counted stream when it is large. Throws as `resize`, unless `isDone`. */
  bodyOf(text: string, isDone: boolean): string | ReadableStream<Uint8Array>
  /** Releases the memory unless a stream has it; returns true when one has. */
  settle(): boolean
  /** Cuts a stream of which its reader takes nothing, in favour of others that wait for a turn; returns true then. */
  yields(): boolean
}

/** The memory of one answer. */
interface Answer extends Reservation {
  /** `performance.now()` when its reader was given what it has not accepted; absent: nothing waits for the reader. */
  waitsSince: number | undefined
  /** How long it has waited for its reader before, ms. */
  waited: number
  acceptedBytes: number
  cut: ((reason: string) => void) | undefined
}

export function createUnsent({
  stalledMs = STALLED_MS,
  yieldsAfterMs = YIELDS_AFTER_MS,
  ledger = createLedger(),
} = {}): Unsent {
  const streams = new Set<Answer>()
  let characters = 0

  /** Stalled answers that hold memory; first the one that has waited for its reader for the longest time. */
  function stalled(answer: Answer): Victim[] {
    const now = performance.now()
    return [...streams]
      .filter((other) => other !== answer && other.bytes > 0 && isStalled(other, now, stalledMs))
      .toSorted((one, other) => (one.waitsSince ?? now) - (other.waitsSince ?? now))
      .map(({ owner, cut }) => ({ owner, cut: () => cut?.('others needed its memory') }))
  }

  const account = ledger.open<Answer>('unsent answers', {
    most: BUDGET_BYTES,
    mostOfOwner: BUDGET_BYTES_OF_CALLER,
    isFreeAlone: true,
    victims: stalled,
    refuse: tooMany,
  })

  function collect(length: number): void {
    characters += length
    if (characters < COLLECT_AFTER_CHARACTERS) return
    characters = 0
    Bun.gc(true)
  }

  function open({ caller, pending, ended }: AnswerOwner): AnswerReservation {
    let answer: Answer | undefined
    const isSmall = (bytes: number) =>
      bytes <= UNCOUNTED_BYTES ||
      (bytes <= MEDIUM_BYTES && bytes * pending() <= BUDGET_BYTES_OF_MEDIUM)

    const reservation: AnswerReservation = {
      resize(bytes) {
        answer ??= {
          owner: caller(),
          bytes: 0,
          waitsSince: undefined,
          waited: 0,
          acceptedBytes: 0,
          cut: undefined,
        }
        account.reserve(answer, bytes)
      },

      reserve(bytes) {
        if (!isSmall(bytes)) reservation.resize(bytes)
      },

      bodyOf(text, isDone) {
        if (isSmall(text.length)) return text
        collect(text.length)
        const bytes = Buffer.from(text)
        try {
          reservation.resize(bytes.length)
        } catch (error) {
          // A write that is committed must not be answered with `BUSY`.
          if (!isDone) throw error
        }
        return sendBytes(bytes, reservation)
      },

      handOver(cut) {
        if (answer === undefined) reservation.resize(0)
        if (answer === undefined) return
        answer.cut = cut
        answer.waitsSince = performance.now()
        streams.add(answer)
      },

      offered() {
        if (answer !== undefined) answer.waitsSince = performance.now()
      },

      accepted(bytes) {
        if (answer === undefined) return
        const now = performance.now()
        answer.waited += now - (answer.waitsSince ?? now)
        answer.waitsSince = undefined
        answer.acceptedBytes += bytes
      },

      release(reason) {
        if (answer === undefined) return
        const isStream = streams.delete(answer)
        account.release(answer)
        answer = undefined
        if (isStream) ended(reason)
      },

      settle() {
        if (answer?.cut !== undefined) return true
        reservation.release()
        return false
      },

      yields() {
        if (answer?.cut === undefined || answer.waitsSince === undefined) return false
        if (performance.now() - answer.waitsSince < yieldsAfterMs) return false
        answer.cut('others waited for their turn')
        return true
      },
    }
    return reservation
  }

  return {
    open,
    get reserved() {
      return account.reserved
    },
  }
}

/** One part of a large text. */
const PART_BYTES = 256 * 1024

/** Sends bytes whose memory is reserved. They are freed when the stream ends: the collector would wait. */
function sendBytes(
  bytes: Buffer<ArrayBuffer>,
  reservation: AnswerReservation,
): ReadableStream<Uint8Array> {
  let sent = 0
  const nextPart = () => {
    if (sent >= bytes.length) return undefined
    const part = new Uint8Array(bytes.subarray(sent, sent + PART_BYTES))
    sent += part.length
    return part
  }
  return pacedStream(nextPart, {
    failed: () => undefined,
    reservation: { ...reservation, resize: () => undefined },
    released() {
      if (bytes.length === bytes.buffer.byteLength) bytes.buffer.transfer(0)
    },
  })
}

function isStalled(
  { waitsSince, waited, acceptedBytes }: Answer,
  now: number,
  stalledMs: number,
): boolean {
  if (waitsSince === undefined) return false
  if (now - waitsSince >= stalledMs) return true
  const all = waited + now - waitsSince
  return all >= CUT_AFTER_MS && acceptedBytes < (MIN_BYTES_PER_SECOND * all) / 1000
}

function tooMany(): SatchelError {
  return new SatchelError(
    'BUSY',
    'Too many large answers wait for their readers: repeat the request',
    { retryAfter: 2 },
  )
}
