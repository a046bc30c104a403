import { type AnyElysia, Elysia } from 'elysia'
import { usualScopes } from '../../auth/provider/provider-facts'
import { type LoginStep, callbackAddress } from '../../auth/provider/provider-login'
import { SatchelError } from '../../domain/value/error'
import { listProviders } from '../../domain/database/provider'
import { answer } from '../answer'
import { hostOf } from '../bearer'
import { type Call, callOf, segment } from '../call'
import type { HttpContext } from '../context'
import { readForm } from '../body/body'
import type { Host } from '../../host/host'
import { onPage, seeOther } from '../pages/page'
import { STATE_LIFE } from '../../auth/provider/login-state'
import type { Provider } from '../../domain/store/records'

/** Logins with outside providers (spec.md §2.4, §4.4, protocol.md §3.2, §3.3). */
export function oauthRoutes(http: HttpContext): AnyElysia {
  return new Elysia({ name: 'oauth' })
    .get(
      '/:database/auth-providers',
      async ({ request }) => {
        const call = callOf(request)
        const { database, mailer } = await hostOf(http, call)
        http.limits.login(call)
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
        onPage(http, request, refused, async (call, host) => {
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
            ...contactOf(http, request, address),
          })
          return redirect(http, call, step, browserCookie(address, step.browser))
        }),
      { detail: { operationId: 'beginLogin' } },
    )
    .get(
      '/:database/oauth/callback/:provider',
      ({ request }) =>
        onPage(http, request, refused, async (call, host) => {
          const step = await host.providers.finish({
            provider: segment(call, 3),
            query: new URLSearchParams(call.query),
            ...contactOf(http, request, await requireAddress(host)),
          })
          return redirect(http, call, step)
        }),
      { detail: HIDDEN },
    )
    .post(
      '/:database/oauth/callback/:provider',
      ({ request }) =>
        onPage(http, request, refused, async (call, host) => {
          const address = await requireAddress(host)
          const query = await readForm(
            http.bodies,
            request,
            POSTED,
            'The answer of a provider must be a form',
          )
          const callback = callbackAddress(address, encodeURIComponent(segment(call, 3)))
          return seeOther(call, `${callback}?${query.toString()}`)
        }),
      { parse: 'none', detail: HIDDEN },
    )
}

/** For providers only. */
const HIDDEN = { hide: true }
/** Marks a browser that was sent to the public address, so that it is sent there once. */
const MOVED = 'moved'
/** What a provider posts: the parameters of a redirect (OAuth 2.0 Form Post Response Mode), and who it is (Apple). */
const POSTED = ['state', 'code', 'error', 'error_description', 'iss', 'user']

function refused(): string {
  return 'You are not logged in'
}

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

function contactOf(http: HttpContext, request: Request, address: string) {
  return {
    address,
    browser: readBrowser(request.headers.get('cookie')),
    isDevelopment: http.origins.isDevelopment(),
  }
}

function redirect(http: HttpContext, call: Call, step: LoginStep, cookie?: string): Response {
  if (step.failure !== undefined) http.failure(call.id, step.failure)
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

/**
 * The secret that binds a login to the browser that began it (design.md §6). It is for the OAuth
 * routes of one database alone, and comes back with a link from another site, but not with a form.
 */
export function browserCookie(address: string, browser: string): string {
  const { pathname, protocol } = new URL(`${address}/oauth`)
  return [
    `${NAME}=${browser}`,
    `Path=${pathname}`,
    `Max-Age=${STATE_LIFE / 1000}`,
    'HttpOnly',
    'SameSite=Lax',
    ...(protocol === 'https:' ? ['Secure'] : []),
  ].join('; ')
}

/** The secret in a `Cookie` header, if there is one that we may have made. */
export function readBrowser(header: string | null): string | undefined {
  const [, value] = COOKIE.exec(header ?? '') ?? []
  return value
}

const NAME = 'satchel-login'
const COOKIE = new RegExp(String.raw`(?:^|; *)${NAME}=([\w-]{43})(?:;|$)`)
