import { adminAnswer, adminJson, adminRefusal, assetAnswer } from '../admin/answers'
import { createDownloads } from '../admin/downloads'
import { sessionOf } from '../admin/halves'
import { createLogins } from '../admin/logins'
import type { AdminParts, Visit } from '../admin/parts'
import { nothingHere, originOf, requireOwnPage } from '../admin/origin'
import { createRuns, createTurns } from '../admin/runs'
import { publicError } from '../answer'
import { type Call, segment } from '../call'
import type { HttpContext } from '../context'

/** Answers everything below `/admin`, before the router and before CORS (admin.md §3). */
export type AnswerAdmin = (http: HttpContext, call: Call) => Promise<Response>

type Route = (visit: Visit) => Promise<Response>

/** The page for administrators. */
export function createAdminGate(parts: AdminParts): AnswerAdmin {
  const { rules, sessions } = parts
  const logins = createLogins(parts)
  const turns = createTurns()
  const downloads = createDownloads(parts, turns)
  const runs = createRuns(parts, turns)

  /** Any browser may load these; they hold nothing of the data. */
  const open: Readonly<Record<string, Route>> = {
    'GET ': showPage,
    'GET assets/': showFile,
  }
  /** Only the page itself may call these. */
  const own: Readonly<Record<string, Route>> = {
    'POST otp': logins.sendCode,
    'POST session': logins.logIn,
    'GET session': logins.show,
    'DELETE session': logins.logOut,
    'GET operations': listOperations,
    'POST api/': runs.run,
    'POST upload/': runs.upload,
    'POST ticket': downloads.prepare,
    'GET file/': downloads.sendFile,
    'GET mail/': downloads.sendMail,
  }

  return async (http, call) => {
    try {
      return await respond(http, call)
    } catch (error) {
      return adminRefusal(call, publicError(http, call, error))
    }
  }

  async function respond(http: HttpContext, call: Call): Promise<Response> {
    // The last segment is a ticket, whose bearer could take the file: it is in no log.
    if (TICKETS.has(call.segments[2] ?? '')) call.path = `/admin/${call.segments[2]}/…`
    const { headers } = call.sent
    const origin = originOf({ headers, peer: call.peer, address: call.address }, rules)
    const [area = '', name = '', ...more] = call.segments.slice(2)
    const method = call.method === 'HEAD' ? 'GET' : call.method
    const key = `${method} ${area}${name === '' ? '' : '/'}`
    const visit = { http, call, origin, name: name === '' ? '' : segment(call, 2) }
    if (more.length === 0 && Object.hasOwn(open, key)) return await open[key]!(visit)
    requireOwnPage(headers, origin, method !== 'GET')
    if (more.length === 0 && Object.hasOwn(own, key)) return await own[key]!(visit)
    throw nothingHere()
  }

  /** The addresses of its files are relative to it. */
  async function showPage(visit: Visit): Promise<Response> {
    const { call } = visit
    if (call.path === '/admin') return await showFile({ ...visit, name: 'index.html' })
    return adminAnswer(call, null, { status: 308, type: null, headers: { Location: '/admin' } })
  }

  async function showFile({ call, name }: Visit): Promise<Response> {
    const found = (await parts.assets()).file(name)
    if (found === undefined) throw nothingHere()
    return assetAnswer(call, found)
  }

  async function listOperations({ call, origin }: Visit): Promise<Response> {
    const session = await sessionOf(sessions, call, origin)
    return adminJson(call, (await parts.table()).list(session))
  }
}

/** The areas whose addresses hold a ticket. */
const TICKETS: ReadonlySet<string> = new Set(['file', 'mail'])
