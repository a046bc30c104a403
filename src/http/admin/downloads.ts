import { createOnce } from '../../auth/once'
import type { LiveSession } from '../../auth/admin/sessions'
import { createSteadyClock } from '../../auth/steady-clock'
import { SatchelError } from '../../domain/value/error'
import { MINUTE } from '../../domain/value/time'
import { isRecord } from '../../domain/value/value'
import { pacedStream } from '../body/json-stream'
import { type Call, keepOpen } from '../call'
import { adminJson, fileAnswer, mailAnswer } from './answers'
import { cookiesOf, sessionOf } from './halves'
import { readTicket, requireText } from './input'
import type { AdminOrder, AdminParts, Visit } from './parts'
import { callerOf, type Turns } from './runs'

const TICKET_LIFE_MS = MINUTE
/** Of all logins. */
const MAX_TICKETS = 100

/** A download that may begin. */
interface Ticket {
  /** The session that asked for it. */
  readonly id: string
  readonly caller: string
  readonly operation: string
  readonly input: unknown
  /** The name of the file. */
  readonly name: string
}

/**
 * Files for the browser itself, whose requests have no key: a ticket is in its place, which is good once, for a
 * minute, together with the cookie of its session.
 */
export function createDownloads({ sessions, table, clock: machine }: AdminParts, turns: Turns) {
  const clock = createSteadyClock(machine)
  const tickets = createOnce<Ticket>(clock, TICKET_LIFE_MS, MAX_TICKETS, ({ caller }) => caller)

  async function prepare(visit: Visit): Promise<Response> {
    const { call } = visit
    const session = await sessionOf(sessions, call, visit.origin)
    const { name = 'download', input, ...rest } = await readTicket(visit)
    const operation = requireText(rest, 'operation')
    await order(call, session, operation, input)
    const { id } = session
    const ticket = { id, caller: callerOf(session), operation, input, name: String(name) }
    return adminJson(call, { ticket: tickets.issue(ticket).code })
  }

  async function order(
    call: Call,
    session: LiveSession,
    operation: string,
    input: unknown,
  ): Promise<AdminOrder> {
    return (await table()).admit(session, operation, call.address).order(input)
  }

  /** Its session is asked for again when it is its turn: it may have ended meanwhile. */
  async function redeem({ call, origin, name }: Visit) {
    const ticket = tickets.take(name)
    if (ticket === undefined) throw wrongTicket()
    const find = () => sessions.useByCookie(cookiesOf(call, origin), ticket.id)
    const over = await turns.enter(await find(), call.sent.signal)
    try {
      const session = await find()
      const run = await order(call, session, ticket.operation, ticket.input)
      return { ...ticket, session, run, over }
    } catch (error) {
      over()
      throw error
    }
  }

  /** The bytes that the operation sends, or its output where it sends none. */
  async function sendFile(visit: Visit): Promise<Response> {
    const { call, http } = visit
    const { run, session, name, over } = await redeem(visit)
    const open = keepOpen(call)
    const stream = sessions.stream(session)
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const [reader, writer] = [readable.getReader(), writable.getWriter()]
    const begun = Promise.withResolvers<void>()
    const signal = AbortSignal.any([call.sent.signal, stream.signal])
    const work = run.run((bytes) => {
      begun.resolve()
      return writer.write(bytes)
    }, signal)
    const output = work.finally(() => {
      stream[Symbol.dispose]()
      open[Symbol.dispose]()
      over()
    })
    const isFile = await Promise.race([begun.promise.then(() => true), output.then(() => false)])
    if (!isFile) return fileAnswer(call, JSON.stringify(await output), JSON_TYPE, name)
    // This wakes an operation that waits for a slow reader; to abort the writer would wait for that reader too.
    const leave = () => void reader.cancel().catch(() => undefined)
    signal.addEventListener('abort', leave)
    let failure: unknown
    output
      .catch((error: unknown) => (failure = error))
      .then(() => writer.close())
      .catch(() => undefined)
    async function nextPart(): Promise<Uint8Array | undefined> {
      const { done, value } = await reader.read()
      signal.throwIfAborted()
      if (done && failure !== undefined) throw failure
      return value
    }
    const body = pacedStream(nextPart, {
      failed: (error) => http.failure(call.id, error),
      reservation: call.reservation,
      released: leave,
    })
    return fileAnswer(call, body, 'application/octet-stream', name)
  }

  /** The HTML of a mail, or of a preview of one, for a frame. */
  async function sendMail(visit: Visit): Promise<Response> {
    const { run, operation, over } = await redeem(visit)
    using turn = new DisposableStack()
    turn.defer(over)
    if (!MAILS.has(operation)) throw wrongTicket()
    const output = await run.run(async () => {}, visit.call.sent.signal)
    const html = isRecord(output) ? output['html'] : undefined
    return mailAnswer(visit.call, typeof html === 'string' ? html : '')
  }

  return { prepare, sendFile, sendMail }
}

/** The operations whose output has the `html` of a mail. */
const MAILS: ReadonlySet<string> = new Set(['mail.read', 'template.preview'])
const JSON_TYPE = 'application/json;charset=utf-8'

function wrongTicket(): SatchelError {
  return new SatchelError('UNKNOWN_ROUTE', 'This download has ended: begin it again')
}
