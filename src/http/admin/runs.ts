import type { AdminSessions, LiveSession } from '../../auth/admin/sessions'
import { aborted, SatchelError } from '../../domain/value/error'
import { sharedTurn } from '../../domain/value/turn'
import { createSlots } from '../../limits/slots'
import { STATUS } from '../../openapi/status'
import { declaredLength } from '../body/body'
import { chunksOf, streamOf, withTimeout } from '../body/chunks'
import { pacedStream } from '../body/json-stream'
import { keepOpen } from '../call'
import { asEvents } from './answers'
import { sessionOf } from './halves'
import { createInputs, inputOfQuery } from './input'
import type { AdminParts, AdmittedOperation, Visit } from './parts'

/** So many operations of one caller run at a time, and others wait: a browser sends six requests at a time. */
const MOST_AT_ONCE = 8

/** Lets the operations of each caller run in turn, whatever they ask for. */
export interface Turns {
  /** Gives the way to leave. Throws `BUSY` when the caller of the request is gone meanwhile. */
  enter(session: LiveSession, signal: AbortSignal): Promise<() => void>
}

export function createTurns(): Turns {
  const slots = createSlots({ mostOfOwner: MOST_AT_ONCE })
  return {
    async enter(session, signal) {
      const leave = await slots.take({ owner: callerOf(session), signal })
      // The steps of an operation that is soon over leave no turn of the event loop to others.
      await sharedTurn()
      if (!signal.aborted) return leave
      leave()
      throw aborted()
    },
  }
}

/** The key of a caller for shares: all logins of a client are one caller. */
export function callerOf({ id, client, database }: LiveSession): string {
  return client === null ? id : `${database} ${client.id}`
}

/** Runs the operations that the page asks for, and answers with their events. */
export function createRuns({ sessions, table }: AdminParts, turns: Turns) {
  const inputs = createInputs()

  async function admit({ call, origin, name }: Visit) {
    const session = await sessionOf(sessions, call, origin)
    return { session, admitted: (await table()).admit(session, name, call.address) }
  }

  /**
   * Whatever refuses the session is said before a body is read, and again after that: it may have ended, or have other
   * rights, by the time that the operation has its turn.
   */
  async function run(visit: Visit): Promise<Response> {
    const { session, admitted } = await admit(visit)
    const { follows } = admitted
    const leave = follows ? () => undefined : await turns.enter(session, visit.call.sent.signal)
    try {
      return await inputs.read(visit, admitted, async (input, finished) => {
        const asked = { sessions, ...(await admit(visit)), input }
        return answerEvents(visit, asked, { finished, leave })
      })
    } catch (error) {
      leave()
      throw error
    }
  }

  async function upload(visit: Visit): Promise<Response> {
    const { session } = await admit(visit)
    const { sent } = visit.call
    const leave = await turns.enter(session, sent.signal)
    try {
      const asked = { sessions, ...(await admit(visit)), input: inputOfQuery(visit) }
      return answerEvents(visit, { ...asked, upload: uploadOf(visit) }, { leave })
    } catch (error) {
      leave()
      throw error
    }
  }

  return { run, upload }
}

/** The file, which may be silent for as long as a blob. */
function uploadOf({ http, call: { sent } }: Visit): ReadableStream<Uint8Array> | null {
  if (sent.body === null) return null
  const chunks = chunksOf(sent, declaredLength(sent), () => undefined)
  return streamOf(withTimeout(chunks, http.blobs.timeout))
}

interface Asked {
  readonly sessions: AdminSessions
  readonly session: LiveSession
  readonly admitted: AdmittedOperation
  readonly input: unknown
  readonly upload?: ReadableStream<Uint8Array> | null
}

interface Ends {
  /** Called when the operation is over. */
  readonly finished?: () => void
  /** Called when it is over, and its reader has the answer or is gone. */
  readonly leave: () => void
}

/** Answers at once. Calls no function of `ends` when it throws. */
function answerEvents(
  { http, call }: Visit,
  { sessions, session, admitted, input, upload = null }: Asked,
  { finished, leave }: Ends,
): Response {
  const order = admitted.order(input)
  using undo = new DisposableStack()
  // Work and silence may take long.
  const open = undo.use(keepOpen(call))
  const stream = undo.use(sessions.stream(session))
  const gone = new AbortController()
  let isOver = false
  const { body } = order.events({
    upload,
    signal: AbortSignal.any([call.sent.signal, gone.signal]),
    ended: stream.signal,
    finished() {
      stream[Symbol.dispose]()
      finished?.()
      isOver = true
      if (gone.signal.aborted) leave()
    },
    statusOf,
  })
  undo.move()
  const events = (body as ReadableStream<Uint8Array>).getReader()
  const memory = http.unsent.open({
    caller: () => call.caller,
    pending: () => 0,
    ended: () => undefined,
  })

  async function nextPart(): Promise<Uint8Array | undefined> {
    // The reader has the part before, and the operation may be quiet for long.
    memory.resize(0)
    const { done, value } = await events.read()
    if (done) return undefined
    try {
      memory.reserve(value.length)
      return value
    } catch (error) {
      // A change that is made must not be answered with `BUSY`.
      return admitted.isChange ? value : refusalEvent(error)
    }
  }

  const paced = pacedStream(nextPart, {
    failed: (error) => http.failure(call.id, error),
    // Each part has its memory already.
    reservation: { ...memory, resize: () => undefined },
    released() {
      open[Symbol.dispose]()
      gone.abort()
      if (isOver) leave()
      void events.cancel().catch(() => undefined)
    },
  })
  return asEvents(call, paced)
}

function refusalEvent(error: unknown): Uint8Array {
  if (!(error instanceof SatchelError)) throw error
  const { code, message } = error
  return Buffer.from(`${JSON.stringify({ error: { status: STATUS[code], code, message } })}\n`)
}

function statusOf(code: keyof typeof STATUS): number {
  return STATUS[code]
}
