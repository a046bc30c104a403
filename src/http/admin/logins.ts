import type { LinkOrder, LiveSession, OpenedSession } from '../../auth/admin/sessions'
import { createCap } from '../../auth/limits'
import { createSteadyClock } from '../../auth/steady-clock'
import { findClientOf } from '../../domain/database/client'
import { requireEmail } from '../../domain/value/email'
import { SatchelError } from '../../domain/value/error'
import { CONNECT_CLIENT } from '../../domain/value/scope'
import { HOUR, MINUTE } from '../../domain/value/time'
import type { OpenDatabase } from '../../host/host'
import { adminAnswer, adminJson } from './answers'
import { cookieHeader, describeSession, sessionOf } from './halves'
import { readLogin, requireText } from './input'
import type { AdminParts, Visit } from './parts'

/** Wrong codes, of one network. Right ones pass however many were wrong. */
const FAILURES = { count: 60, window: 10 * MINUTE }
/** Mails that one network may ask for. */
const CODES = { count: 60, window: HOUR }

/** Begins, shows and ends sessions (admin.md §4). */
export function createLogins({ sessions, clock: machine }: AdminParts) {
  const clock = createSteadyClock(machine)
  const failures = createCap(clock, FAILURES.count, FAILURES.window)
  const codes = createCap(clock, CODES.count, CODES.window)

  /** Mails a code to the owner of an address. The answer is the same for every address and database. */
  async function sendCode(visit: Visit): Promise<Response> {
    const { call } = visit
    const input = await readLogin(visit)
    const email = requireEmail(input['email'])
    codes.spend(call.address)
    const opened = await findDatabase(visit, requireText(input, 'database'))
    await opened?.authority.grant({
      parameters: { grant_type: 'otp-email', email, scopes: [CONNECT_CLIENT] },
      authorization: null,
      address: call.address,
    })
    return adminAnswer(call, null, { status: 204, type: null })
  }

  /** By the code of a link, or by one that was mailed. A session that sends one is confirmed by it. */
  async function logIn(visit: Visit): Promise<Response> {
    const input = await readLogin(visit)
    try {
      return 'code' in input
        ? await byLink(visit, requireText(input, 'code'))
        : await byMail(visit, input)
    } catch (error) {
      throw failed(visit, error)
    }
  }

  async function byLink(visit: Visit, code: string): Promise<Response> {
    const order = sessions.redeem(code)
    if (order === undefined) throw wrongLink()
    if (order === 'confirmation') return await confirm(visit, await currentSession(visit))
    return await begin(visit, await open(order, visit.call.address))
  }

  function open({ life, ...rights }: Exclude<LinkOrder, string>, address: string) {
    return sessions.begin({ ...rights, client: null }, life, address)
  }

  async function byMail(visit: Visit, input: Readonly<Record<string, unknown>>): Promise<Response> {
    const { call } = visit
    const database = requireText(input, 'database')
    const email = requireEmail(input['email'])
    const opened = await findDatabase(visit, database)
    if (opened === undefined) throw wrongCode()
    const token = await opened.authority.grant({
      parameters: {
        grant_type: 'otp-token',
        email,
        otp: requireText(input, 'otp'),
        scopes: [CONNECT_CLIENT],
      },
      authorization: null,
      address: call.address,
    })
    if (token.type !== 'tokens') throw wrongCode()
    return await opened.authority.proofs.spend(token.accessToken, async (owner) => {
      const client = await opened.database.read((tx) => findClientOf(tx, owner, opened.clock.now()))
      if (client === undefined) throw wrongCode()
      const current = await findSession(visit)
      if (current?.client?.id === client.id && current.database === database) {
        return await confirm(visit, current)
      }
      const rights = { database, isReadOnly: false, client: { id: client.id, email: owner } }
      return await begin(visit, await sessions.begin(rights, null, call.address))
    })
  }

  async function begin(visit: Visit, { session, cookie, key }: OpenedSession): Promise<Response> {
    const headers = { 'Set-Cookie': cookieHeader(cookie, visit.origin) }
    return adminJson(visit.call, { ...(await describe(visit, session)), key }, headers)
  }

  async function confirm(visit: Visit, { id }: LiveSession): Promise<Response> {
    sessions.confirm(id)
    return await show(visit)
  }

  async function show(visit: Visit): Promise<Response> {
    return adminJson(visit.call, await describe(visit, await currentSession(visit)))
  }

  async function logOut(visit: Visit): Promise<Response> {
    sessions.end((await currentSession(visit)).id)
    return adminAnswer(visit.call, null, {
      status: 204,
      type: null,
      headers: { 'Set-Cookie': cookieHeader('', visit.origin) },
    })
  }

  function currentSession({ call, origin }: Visit): Promise<LiveSession> {
    return sessionOf(sessions, call, origin)
  }

  async function findSession(visit: Visit): Promise<LiveSession | undefined> {
    try {
      return await currentSession(visit)
    } catch (error) {
      if (error instanceof SatchelError && error.code === 'SESSION_ENDED') return undefined
      throw error
    }
  }

  async function describe({ http }: Visit, session: LiveSession) {
    const { database } = session
    const databases = database === null ? await http.hosts.list() : [database]
    return describeSession(session, databases, sessions.list())
  }

  /** The error to answer with: too many wrong codes get another one. */
  function failed({ call }: Visit, error: unknown): unknown {
    if (!(error instanceof SatchelError) || !WRONG.has(error.code)) return error
    try {
      failures.spend(call.address)
      return error
    } catch (limitExceeded) {
      return limitExceeded
    }
  }

  return { sendCode, logIn, show, logOut }
}

const WRONG: ReadonlySet<string> = new Set(['INVALID_OTP', 'OTP_EXPIRED', 'NOT_AUTHORIZED'])

/** Undefined for an unknown name. Throws `BUSY` while opening takes long. */
async function findDatabase({ http }: Visit, name: string): Promise<OpenDatabase | undefined> {
  try {
    return await http.hosts.openSoon(name)
  } catch (error) {
    if (error instanceof SatchelError && error.code === 'UNKNOWN_DATABASE') return undefined
    throw error
  }
}

function wrongLink(): SatchelError {
  return new SatchelError(
    'OTP_EXPIRED',
    'This link was used, or has expired: make a new one with satchel admin',
  )
}

/** As for an address with a client whose code is wrong. */
function wrongCode(): SatchelError {
  return new SatchelError('OTP_EXPIRED', 'This code is no longer valid: ask for a new one')
}
