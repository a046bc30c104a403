import { type AnyElysia, Elysia } from 'elysia'
import { usualScopes } from '../auth/provider-facts'
import type { LoginStep } from '../auth/provider-login'
import { callbackAddress } from '../auth/provider-login'
import { SatchelError } from '../domain/error'
import { listProviders, type Provider } from '../domain/provider'
import { answer } from './answer'
import { hostOf } from './bearer'
import { type Call, callOf, segment } from './call'
import type { Door } from './door'
import { publicError, STATUS } from './errors'
import type { Host } from './hosts'
import { browserCookie, readBrowser } from './login-cookie'
import { messagePage, messagePolicy } from './page'

/** Logins with outside providers (spec.md §2.4, §4.4, protocol.md §3.2, §3.3). */
export function oauthRoutes(door: Door): AnyElysia {
  return new Elysia({ name: 'oauth' })
    .get(
      '/:database/auth-providers',
      async ({ request }) => {
        const call = callOf(request)
        const { database, mailer } = await hostOf(door, call)
        const { providers, otpEnabled } = await database.read(async (tx) => ({
          providers: await listProviders(tx),
          otpEnabled: await mailer.isReady(tx),
        }))
        return answer(call, JSON.stringify({ providers: providers.map(describe), otpEnabled }))
      },
      { detail: { operationId: 'listLoginProviders' } },
    )
    .get(
      '/:database/oauth/login/:provider',
      ({ request }) =>
        onPage(door, request, async (call, host) => {
          const query = new URLSearchParams(call.query)
          const address = await requireAddress(host)
          const provider = segment(call, 3)
          if (isElsewhere(request, address) && !query.has(MOVED)) {
            query.set(MOVED, '1')
            return seeOther(
              call,
              `${address}/oauth/login/${encodeURIComponent(provider)}?${query.toString()}`,
            )
          }
          const step = await host.providers.begin({
            provider,
            redirectUri: query.get('redirect_uri'),
            scopes: query.get('scopes'),
            ...contactOf(door, request, address),
          })
          return redirect(door, call, step, browserCookie(address, step.browser))
        }),
      { detail: { operationId: 'beginLogin' } },
    )
    .get(
      '/:database/oauth/callback/:provider',
      ({ request }) =>
        onPage(door, request, async (call, host) => {
          const step = await host.providers.finish({
            provider: segment(call, 3),
            query: new URLSearchParams(call.query),
            ...contactOf(door, request, await requireAddress(host)),
          })
          return redirect(door, call, step)
        }),
      { detail: HIDDEN },
    )
    .post(
      '/:database/oauth/callback/:provider',
      ({ request }) =>
        onPage(door, request, async (call, host) => {
          const address = await requireAddress(host)
          const query = await readForm(door, request)
          const callback = callbackAddress(address, encodeURIComponent(segment(call, 3)))
          return seeOther(call, `${callback}?${query.toString()}`)
        }),
      { parse: 'none', detail: HIDDEN },
    )
}

/** For providers alone, who are told where it is. */
const HIDDEN = { hide: true }
/** Marks a browser that was sent to the public address, so that it is sent there once. */
const MOVED = 'moved'
/** What a provider posts: the parameters of a redirect, and who it is (Apple). */
const POSTED = ['state', 'code', 'error', 'error_description', 'iss', 'user']
const LONGEST_FORM = 16 * 1024

function describe(provider: Provider) {
  const { id, type, displayName, iconUrl, scopes } = provider
  return {
    type,
    name: id,
    displayName,
    ...(iconUrl === null ? {} : { iconUrl }),
    scopes: scopes ?? usualScopes(provider),
  }
}

/** Throws `NO_PUBLIC_ADDRESS`. */
async function requireAddress(host: Host): Promise<string> {
  const address = await host.address()
  if (address !== null) return address
  throw new SatchelError(
    'NO_PUBLIC_ADDRESS',
    'This server does not know its public address, which login providers need: start it with --public-url',
  )
}

/**
 * True when the browser came by another name of this server: the cookie of the login must belong to
 * the name that the provider sends it back to. The name itself is not used for anything.
 */
function isElsewhere(request: Request, address: string): boolean {
  return request.headers.get('host') !== new URL(address).host
}

function contactOf(door: Door, request: Request, address: string) {
  return {
    address,
    browser: readBrowser(request.headers.get('cookie')),
    isDevelopment: door.origins.isDevelopment(),
  }
}

/** The parameters of a form that a provider had the browser post (OAuth 2.0 Form Post Response Mode). */
async function readForm(door: Door, request: Request): Promise<URLSearchParams> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/x-www-form-urlencoded *(?:;|$)/i.test(type)) {
    throw new SatchelError('UNSUPPORTED_MEDIA_TYPE', 'What comes from a provider is a form')
  }
  const form = new URLSearchParams(await door.bodies.text(request, LONGEST_FORM))
  return new URLSearchParams([...form].filter(([name]) => POSTED.includes(name)))
}

function redirect(door: Door, call: Call, step: LoginStep, cookie?: string): Response {
  if (step.failure !== undefined) door.failure(call.id, step.failure)
  return answer(call, null, {
    status: 302,
    type: null,
    headers: {
      Location: step.location,
      'Cache-Control': 'no-store',
      ...(cookie === undefined ? {} : { 'Set-Cookie': cookie }),
    },
  })
}

/** After a post, and without its body. */
function seeOther(call: Call, location: string): Response {
  const headers = { Location: location, 'Cache-Control': 'no-store' }
  return answer(call, null, { status: 303, type: null, headers })
}

/**
 * A refusal as a page: whoever reads it came by a link and cannot be sent anywhere. Programs that
 * take JSON alone get JSON.
 */
async function onPage(
  door: Door,
  request: Request,
  work: (call: Call, host: Host) => Promise<Response>,
): Promise<Response> {
  const call = callOf(request)
  try {
    return await work(call, await hostOf(door, call))
  } catch (error) {
    if (isProgram(request.headers.get('accept') ?? '')) throw error
    const told = publicError(door, call, error)
    call.code = told.code
    return answer(call, messagePage('You are not logged in', told.message), {
      status: STATUS[told.code],
      type: 'text/html;charset=utf-8',
      headers: { 'Cache-Control': 'no-store', 'Content-Security-Policy': messagePolicy() },
    })
  }
}

function isProgram(accept: string): boolean {
  return accept.includes('application/json') && !accept.includes('text/html')
}
