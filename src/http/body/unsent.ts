import { SatchelError } from '../../domain/value/error'
import { pacedStream, type StreamRoom } from './json-stream'

const MIB = 1024 * 1024

/** Answers that wait for their readers, of all callers and of one, in bytes (design.md §6 fairness). */
const BUDGET = 88 * MIB
const BUDGET_OF_CALLER = 64 * MIB
/** Answers up to this size are sent as they are: the network accepts most of them at once. */
export const UNCOUNTED = 16 * 1024
const MEDIUM = 256 * 1024
/** Answers of medium size are counted when so many requests are pending that they could exceed this. */
const BUDGET_OF_MEDIUM = 32 * MIB
/** Garbage is collected after this many characters of large answers: the collector underestimates strings. */
const COLLECT_AFTER = 24 * MIB
/** An answer may be cut in favour of others after this many ms in which its reader accepted nothing … */
const STALLED_MS = 5_000
/** … or when it is older than this, ms, and was accepted more slowly than this, bytes per second. */
const OLD = 30_000
const SLOW = 64 * 1024

/** The memory of all answers that their readers have not accepted yet. */
export interface Unsent {
  /** The memory of one answer, which is none at first. */
  open(owner: RoomOwner): Room
  /** The bytes that are reserved now. */
  readonly reserved: number
}

export interface RoomOwner {
  /** The caller whose budget is charged. Asked only for answers that are counted. */
  readonly caller: () => string
  /** How many requests the server has not answered completely. */
  readonly pending: () => number
  /** Called when a stream has ended; `reason` says why the reader did not receive all of it. */
  readonly ended: (reason: string | undefined) => void
}

/** The memory of one answer from before it is read until its reader has accepted it. */
export interface Room extends StreamRoom {
  /** Reserves memory for an answer of about this many bytes, unless it is small. Throws as `resize`. */
  reserve(bytes: number): void
  /** The text as a body: a counted stream when it is large. Throws as `resize`, unless `isDone`. */
  bodyOf(text: string, isDone: boolean): string | ReadableStream<Uint8Array>
  /** Releases the memory unless a stream has it; returns true when one has. */
  settle(): boolean
}

interface Reservation {
  readonly caller: string
  bytes: number
  /** `performance.now()` when the stream began, and when its reader last accepted something. */
  begun: number
  acceptedAt: number
  acceptedBytes: number
  cut: (() => void) | undefined
}

export function createUnsent({ stalledMs = STALLED_MS } = {}): Unsent {
  let reserved = 0
  let characters = 0
  const bytesByCaller = new Map<string, number>()
  const streams = new Set<Reservation>()

  function add(reservation: Reservation, bytes: number): void {
    reserved += bytes
    reservation.bytes += bytes
    const ofCaller = (bytesByCaller.get(reservation.caller) ?? 0) + bytes
    if (ofCaller > 0) bytesByCaller.set(reservation.caller, ofCaller)
    else bytesByCaller.delete(reservation.caller)
  }

  /** The bytes of other answers of the caller; an answer on its own may have any size. */
  function othersOf({ caller, bytes }: Reservation): number {
    return (bytesByCaller.get(caller) ?? 0) - bytes
  }

  function isCallerOver(reservation: Reservation, bytes: number): boolean {
    const others = othersOf(reservation)
    return others > 0 && others + bytes > BUDGET_OF_CALLER
  }

  function isOver(reservation: Reservation, bytes: number): boolean {
    const others = reserved - reservation.bytes
    return others > 0 && others + bytes > BUDGET
  }

  function makeRoom(reservation: Reservation, bytes: number): void {
    const now = performance.now()
    const stalled = [...streams]
      .filter((other) => other !== reservation && isStalled(other, now, stalledMs))
      .toSorted((one, other) => one.acceptedAt - other.acceptedAt)
    for (const other of stalled) {
      if (isCallerOver(reservation, bytes)) {
        if (other.caller === reservation.caller) other.cut?.()
      } else if (isOver(reservation, bytes)) other.cut?.()
      else return
    }
  }

  function collect(length: number): void {
    characters += length
    if (characters < COLLECT_AFTER) return
    characters = 0
    Bun.gc(true)
  }

  function open({ caller, pending, ended }: RoomOwner): Room {
    let reservation: Reservation | undefined
    const isSmall = (bytes: number) =>
      bytes <= UNCOUNTED || (bytes <= MEDIUM && bytes * pending() <= BUDGET_OF_MEDIUM)

    const room: Room = {
      resize(bytes) {
        reservation ??= {
          caller: caller(),
          bytes: 0,
          begun: 0,
          acceptedAt: 0,
          acceptedBytes: 0,
          cut: undefined,
        }
        if (bytes > reservation.bytes) {
          const exceeds = (one: Reservation) => isCallerOver(one, bytes) || isOver(one, bytes)
          if (exceeds(reservation)) makeRoom(reservation, bytes)
          if (exceeds(reservation)) throw tooMany()
        }
        add(reservation, bytes - reservation.bytes)
      },

      reserve(bytes) {
        if (!isSmall(bytes)) room.resize(bytes)
      },

      bodyOf(text, isDone) {
        if (isSmall(text.length)) return text
        collect(text.length)
        const bytes = Buffer.from(text)
        try {
          room.resize(bytes.length)
        } catch (error) {
          // A write that is committed must not be answered with `BUSY`.
          if (!isDone) throw error
        }
        return sendBytes(bytes, room)
      },

      handOver(cut) {
        if (reservation === undefined) room.resize(0)
        if (reservation === undefined) return
        reservation.cut = cut
        reservation.begun = reservation.acceptedAt = performance.now()
        streams.add(reservation)
      },

      accepted(bytes) {
        if (reservation === undefined) return
        reservation.acceptedAt = performance.now()
        reservation.acceptedBytes += bytes
      },

      release(reason) {
        if (reservation === undefined) return
        const isStream = streams.delete(reservation)
        add(reservation, -reservation.bytes)
        reservation = undefined
        if (isStream) ended(reason)
      },

      settle() {
        if (reservation?.cut !== undefined) return true
        room.release()
        return false
      },
    }
    return room
  }

  return {
    open,
    get reserved() {
      return reserved
    },
  }
}

/** One part of a large text. */
const PART = 256 * 1024

/** Sends bytes whose memory is reserved. They are freed when the stream ends: the collector would wait. */
function sendBytes(bytes: Buffer<ArrayBuffer>, room: Room): ReadableStream<Uint8Array> {
  let sent = 0
  const nextPart = () => {
    if (sent >= bytes.length) return undefined
    const part = new Uint8Array(bytes.subarray(sent, sent + PART))
    sent += part.length
    return part
  }
  const failed = () => undefined
  const release = (reason?: string) => {
    room.release(reason)
    if (bytes.length === bytes.buffer.byteLength) bytes.buffer.transfer(0)
  }
  return pacedStream(nextPart, { failed, room: { ...room, resize: () => undefined, release } })
}

function isStalled(
  { begun, acceptedAt, acceptedBytes }: Reservation,
  now: number,
  stalledMs: number,
): boolean {
  if (now - acceptedAt >= stalledMs) return true
  const age = now - begun
  return age >= OLD && acceptedBytes < (SLOW * age) / 1000
}

function tooMany(): SatchelError {
  return new SatchelError(
    'BUSY',
    'Too many large answers wait for their readers: repeat the request',
    { retryAfter: 2 },
  )
}
