import type { Server } from 'bun'
import { isDatabaseName } from '../domain/database'
import { SatchelError } from '../domain/error'
import { segment, type Call, enterCall } from './call'
import { dress } from './answer'
import { corsHeaders, isPreflight, preflightAnswer } from './cors'
import type { Door } from './door'
import { errorAnswer, publicError } from './errors'

/** Answers one request; the routers are behind `handle`. */
export type Handle = (request: Request) => Response | Promise<Response>

export interface FrontDoor {
  fetch(request: Request, server: Server<undefined>): Promise<Response>
}

/**
 * Everything that happens to every request, in order: it gets an id, its address is brought into
 * one form, a page that calls is checked against the origins, the router answers, the access log
 * gets its line (style.md §1).
 */
export function createFrontDoor(door: Door, handle: Handle, domain: string | null): FrontDoor {
  const nextId = requestIds()
  return {
    async fetch(request) {
      const started = performance.now()
      const call = newCall(nextId(), request.method, started)
      let response: Response
      try {
        response = await respond(request, call)
      } catch (error) {
        const told = publicError(error)
        if (told.code === 'INTERNAL' || told.cause !== undefined) door.failure(call.id, error)
        response = errorAnswer(call, told)
      }
      door.access({
        requestId: call.id,
        method: request.method,
        path: call.path,
        status: response.status,
        duration: performance.now() - started,
        subject: call.subject,
        ...(call.code === undefined ? {} : { code: call.code }),
      })
      return response
    },
  }

  async function respond(request: Request, call: Call): Promise<Response> {
    const routed = route(request, call, domain)
    enterCall(routed, call)
    const origin = request.headers.get('origin')
    if (origin !== null) {
      call.cors = await corsHeaders(origin, await findHost(call), door.origins)
      if (isPreflight(request)) return preflightAnswer(call)
    }
    return dress(call, await handle(routed))
  }

  /** The database whose list of origins counts; undefined for an address that names none. */
  async function findHost(call: Call) {
    const name = segment(call, 0)
    if (!isDatabaseName(name)) return undefined
    return door.hosts.findOpen(name) ?? (await door.hosts.open(name))
  }
}

function newCall(id: string, method: string, started: number): Call {
  return {
    id,
    method,
    path: '',
    query: '',
    started,
    cors: undefined,
    subject: null,
    code: undefined,
    isDressed: false,
  }
}

/** Ids that differ between processes and requests, and sort by time within a process. */
function requestIds(): () => string {
  const process = Buffer.from(crypto.getRandomValues(new Uint8Array(6))).toString('base64url')
  let count = 0
  return () => `${process}-${(count++).toString(36)}`
}

/**
 * Brings the address into the one form that the routers know, `/<database>/…`: repeated slashes
 * collapse, and with `--domain` the first label of the host is the database (design.md §2).
 */
function route(request: Request, call: Call, domain: string | null): Request {
  const { url } = request
  const begin = url.indexOf('/', url.indexOf('://') + 3)
  const mark = url.indexOf('?', begin)
  const raw = mark === -1 ? url.slice(begin) : url.slice(begin, mark)
  const label = domain === null ? undefined : databaseLabel(url, domain)
  const named = label === undefined ? raw : `/${label}${raw}`
  call.path = named.includes('//') ? named.replaceAll(/\/{2,}/g, '/') : named
  call.query = mark === -1 ? '' : url.slice(mark + 1)
  if (request.headers.get('host')?.includes(',') === true) {
    throw new SatchelError('INVALID_REQUEST', 'The request has more than one Host header')
  }
  // Elysia looks for the path from the eleventh character on.
  if (call.path === raw && begin >= SHORTEST_HOST) return request
  const target = `http://localhost${call.path}${mark === -1 ? '' : url.slice(mark)}`
  return new Request(target, request)
}

const SHORTEST_HOST = 11

function databaseLabel(url: string, domain: string): string | undefined {
  const { hostname } = new URL(url)
  if (!hostname.endsWith(`.${domain}`)) return undefined
  const label = hostname.slice(0, -domain.length - 1)
  return isDatabaseName(label) ? label : undefined
}
