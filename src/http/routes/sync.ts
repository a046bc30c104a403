import { type Actor, requireScopes, requireWriter } from '../../domain/access/actor'
import type { SendInvitation } from '../../domain/rows/invitation'
import type { Awaitable } from '../../domain/store/records'
import { rowRulesWith } from '../../domain/rows/row-rules'
import { markedTables } from '../../domain/sync/client'
import type { AnswerPart } from '../../domain/sync/pull'
import { movedBy, readSyncRequest, type SyncRequest } from '../../domain/sync/request'
import { isFirstSync, sync } from '../../domain/sync/sync'
import { SatchelError } from '../../domain/value/error'
import type { Host } from '../../host/host'
import { answer } from '../answer'
import { type Authorised, authorised } from '../caller'
import { pacedStream, type StreamRoom } from '../body/json-stream'
import { type BodyLimits, createBodies } from '../body/body'
import type { Call } from '../call'
import type { HttpContext } from '../context'

/** Answers `POST /sync` of the published client add-on (protocol.md §4). */
export type AnswerSync = (request: Authorised) => Promise<Response>

/** Answers syncs without the router; undefined for all other calls. */
export function directSyncRoute(
  http: HttpContext,
  answerSync: AnswerSync,
): (call: Call) => Awaitable<Response> | undefined {
  return (call) => {
    const { segments, method } = call
    const isSync = segments.length === 3 && segments[2] === 'sync' && method === 'POST'
    return isSync ? authorised(http, call, null, answerSync, { isCounted: false }) : undefined
  }
}

/** Makes the handler of both. */
export function createSync(http: HttpContext): AnswerSync {
  const bodies = createBodies(LIMITS, {
    advice: 'import a file with satchel import',
    timeout: http.blobs.timeout,
  })
  const streams = createGate(MOST_STREAMS)

  async function respond({ call, host, actor }: Authorised): Promise<Response> {
    const isAnonymous = actor.subject === null
    if (!isAnonymous) {
      requireScopes(actor, ['ACCESS_DB'])
      // Before the body is read, which may be large.
      await host.database.read((tx) => requireWriter(tx, actor, host.clock.now()))
    }
    // A large body, or a first sync that waits for others, takes longer.
    call.setIdleTimeout(0)
    using stack = new DisposableStack()
    stack.defer(() => call.setIdleTimeout(IDLE_SECONDS))
    stack.use(await http.hosts.hold(host.name))
    const source = { scratch: host.scratch, ...(isAnonymous ? { maxBytes: UNCHANGING } : {}) }
    const { parts, first } = await bodies.json(call, source, (body) =>
      begin({ call, host, actor }, movedBy(readSyncRequest(body), host.lead())),
    )
    if (first.end !== undefined) return answer(call, first.text)
    stack.defer(() => void parts[Symbol.asyncDispose]())
    const entered = streams.enter()
    // Very many may wait: their first part was short, and is made anew from the changes until then.
    if (entered instanceof Promise) first.restart?.()
    const begun = entered instanceof Promise ? undefined : first
    stack.defer(await entered)
    // The caller is gone: another one has its turn.
    if (call.sent.signal.aborted) throw aborted()
    const held = stack.move()
    const body = pacedStream(bytesOf(begun, parts), {
      failed: (error) => http.failure(call.id, error),
      room: withRelease(call.room, () => held.dispose()),
    })
    return answer(call, body)
  }

  /** Stores the changes of the request, and reads the first part of the answer. */
  async function begin(
    { call, host, actor }: Authorised,
    request: SyncRequest,
  ): Promise<{ parts: Parts; first: AnswerPart }> {
    const { subject } = actor
    const isFirst = isFirstSync(request, subject)
    if (!isFirst) http.limits.sync(call, host, subject, request.clientIdentity)
    const sendInvitation: SendInvitation = (tx, facts) =>
      host.invitations.send(tx, facts, call.sent.headers.get('origin'))
    return await patiently(isFirst, async () => {
      const now = host.clock.now()
      const rulesByTable = rowRulesWith(sendInvitation)
      const limits = http.writeLimits
      const report = (damage: SatchelError) => http.failure(call.id, damage)
      const isToWait = streams.isFull
      const given = { actor, request, now, rulesByTable, limits, report, isToWait }
      const answered = sync(host.database, given)
      const parts = heard(host, actor, request, answered)
      const first = await parts.next()
      if (first === undefined) throw new Error('the answer has no part')
      return { parts, first }
    })
  }

  /** The live connections of the client rest until its answer is complete, and go on from there. */
  function heard(
    host: Host,
    { subject }: Actor,
    request: SyncRequest,
    parts: AsyncGenerator<AnswerPart>,
  ): Parts {
    const answering = http.live.answering(host, request.clientIdentity, subject)
    return {
      async next() {
        try {
          const { value } = await parts.next()
          const part = value as AnswerPart | undefined
          if (part?.end === undefined) return part
          answering.answered({ ...part.end, tables: new Set(markedTables(request)) })
          answering[Symbol.dispose]()
          return part
        } catch (error) {
          answering[Symbol.dispose]()
          throw error
        }
      },
      async [Symbol.asyncDispose]() {
        // After a read that is under way.
        await parts.return(undefined)
        answering[Symbol.dispose]()
      },
    }
  }

  return respond
}

/**
 * A client sends all its changes at once: it cannot make a rejected request smaller. Their values are
 * checked where they are stored: a deep one rejects only its transaction.
 */
const LIMITS: BodyLimits = { bytes: 256 * 1024 * 1024, depth: 1_000, values: 50_000_000 }
/** The limit for callers who send no changes, in bytes. */
const UNCHANGING = 256 * 1024

/** The idle timeout of a connection after the answer, as of all others, s. */
const IDLE_SECONDS = 30
/** So many answers are streamed at once; others wait for their turn. */
const MOST_STREAMS = 8
/** How often, and how long after each other, a first sync is tried while the server is busy. */
const TRIES = 20
const PAUSE_MS = 1_000

function aborted(): SatchelError {
  return new SatchelError('BUSY', 'The request was aborted', { retryAfter: 1 })
}

/** Clients do not repeat a first sync that fails (protocol.md Appendix C.1). */
async function patiently<T>(isPatient: boolean, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      const isBusy = error instanceof SatchelError && error.code === 'BUSY'
      if (!isPatient || !isBusy || tries === TRIES) throw error
      await Bun.sleep(PAUSE_MS)
    }
  }
}

const encoder = new TextEncoder()

/** The parts of an answer; the last one is not followed by another call. */
interface Parts extends AsyncDisposable {
  next(): Promise<AnswerPart | undefined>
}

/** The parts of an answer, the first of which may be there. */
function bytesOf(
  first: AnswerPart | undefined,
  parts: Parts,
): () => Promise<Uint8Array | undefined> {
  let next: AnswerPart | undefined = first
  return async () => {
    const part = next ?? (await parts.next())
    next = undefined
    return part && encoder.encode(part.text)
  }
}

function withRelease(room: StreamRoom, released: () => void): StreamRoom {
  return {
    resize: (bytes) => room.resize(bytes),
    handOver: (cut) => room.handOver(cut),
    accepted: (bytes) => room.accepted(bytes),
    release(reason) {
      room.release(reason)
      released()
    },
  }
}

/** Lets `most` callers in at a time, the others in their order. */
interface Gate {
  /** True when the next caller has to wait. */
  readonly isFull: boolean
  /** Gives the way to leave: at once, or when it is the turn of the caller. */
  enter(): Awaitable<() => void>
}

function createGate(most: number): Gate {
  const waiting: (() => void)[] = []
  let inside = 0
  const leave = () => {
    const next = waiting.shift()
    if (next === undefined) inside -= 1
    else next()
  }
  return {
    get isFull() {
      return inside >= most
    },
    enter() {
      if (inside >= most) {
        return new Promise((resolve) => waiting.push(() => resolve(leave)))
      }
      inside += 1
      return leave
    },
  }
}
