import { type AnyElysia, Elysia } from 'elysia'
import { STATE_LIFE_MS } from '../../auth/provider/login-state'
import { usualScopes } from '../../auth/provider/provider-facts'
import { callbackAddress, type LoginStep } from '../../auth/provider/provider-login'
import { listProviders } from '../../domain/database/provider'
import type { Provider } from '../../domain/store/records'
import { type ErrorCode, SatchelError } from '../../domain/value/error'
import { isWeb } from '../../domain/value/web-address'
import type { OpenDatabase } from '../../host/host'
import { answer } from '../answer'
import { readForm } from '../body/body'
import { type Call, segment } from '../call'
import { inDatabase } from '../caller'
import type { HttpContext } from '../context'
import { type Message, pages, seeOther } from '../pages/page'

/** Logins with outside providers (spec.md §2.4, §4.4, protocol.md §3.2, §3.3). */
export function oauthRoutes(http: HttpContext): AnyElysia {
  const asPage = pages(http, explain)
  // The callback is in no description: only login providers use it, and Satchel gives them the address.
  return new Elysia({ name: 'oauth' })
    .get(
      '/:database/auth-providers',
      ...inDatabase(http, 'listLoginProviders', async ({ call, opened }) => {
        http.limits.login(call)
        const { providers, otpEnabled } = await opened.database.read((tx) => ({
          providers: listProviders(tx),
          otpEnabled: opened.mailer.isReady(tx),
        }))
        return answer(call, JSON.stringify({ providers: providers.map(describe), otpEnabled }))
      }),
    )
    .get(
      '/:database/oauth/login/:provider',
      ...asPage('beginLogin', async ({ call, opened }) => {
        const query = new URLSearchParams(call.query)
        const address = await requireAddress(opened)
        const provider = segment(call, 3)
        if (isOtherName(call.sent, address) && !query.has(MOVED)) {
          query.set(MOVED, '1')
          const login = `${address}/oauth/login/${encodeURIComponent(provider)}`
          return seeOther(call, `${login}?${query.toString()}`)
        }
        const step = await opened.providers.begin({
          provider,
          redirectUri: query.get('redirect_uri'),
          scopes: query.get('scopes'),
          ...contactOf(http, call, address),
        })
        return redirect(http, call, step, browserCookie(address, step.browser))
      }),
    )
    .get(
      '/:database/oauth/callback/:provider',
      ...asPage(null, async ({ call, opened }) => {
        const step = await opened.providers.finish({
          provider: segment(call, 3),
          query: new URLSearchParams(call.query),
          ...contactOf(http, call, await requireAddress(opened)),
        })
        return redirect(http, call, step)
      }),
    )
    .post(
      '/:database/oauth/callback/:provider',
      ...asPage(null, async ({ call, opened }) => {
        const address = await requireAddress(opened)
        const sentence = 'The answer of a provider must be a form'
        const query = await readForm(http.bodies, call.sent, POSTED, sentence)
        const callback = callbackAddress(address, encodeURIComponent(segment(call, 3)))
        return seeOther(call, `${callback}?${query.toString()}`)
      }),
    )
}

/** What the person can do about a login that did not succeed; undefined: what the error says. */
const TEXTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  ORIGIN_NOT_ALLOWED:
    'The application that sent you here is not known to this database, so the login cannot return to it. Nothing was sent to it',
  NO_PUBLIC_ADDRESS: 'This way to log in is not ready yet. Log in another way, or try again later',
  UNKNOWN_PROVIDER: 'There is no such way to log in here. Log in another way',
  INVALID_REQUEST:
    'The address that led here is incomplete. Go back to the application, and log in again',
}

/** The page of a login that cannot return to its application. */
function explain({ code, message }: SatchelError, call: Call): Message {
  const title = 'You are not logged in'
  const text = TEXTS[code]
  if (text === undefined) return { title, text: message }
  return { title, text, remedy: `For the developer: ${message}`, back: applicationOf(call) }
}

/** The page that sent the browser to a login; the provider sends it to the callback. */
function applicationOf({ sent, path }: Call): URL | undefined {
  if (!path.includes('/oauth/login/')) return undefined
  const page = URL.parse(sent.headers.get('referer') ?? '')
  return page !== null && isWeb(page) ? page : undefined
}

/** Marks a browser that was redirected to the public address already, to prevent a loop. */
const MOVED = 'moved'
/** The fields that providers post: the parameters of a redirect (OAuth 2.0 Form Post Response Mode), and Apple's `user`. */
const POSTED = ['state', 'code', 'error', 'error_description', 'iss', 'user']

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
async function requireAddress(opened: OpenDatabase): Promise<string> {
  const address = await opened.address()
  if (address !== null) return address
  throw new SatchelError(
    'NO_PUBLIC_ADDRESS',
    'Login providers need the public address of this server: start it with --public-url',
  )
}

/**
 * True when the browser used another host name of this server: the cookie of the login must belong to
 * the host name that the provider redirects to. The name is only compared.
 */
function isOtherName({ headers }: Request, address: string): boolean {
  return headers.get('host') !== new URL(address).host
}

function contactOf(http: HttpContext, { sent }: Call, address: string) {
  return {
    address,
    browser: readBrowser(sent.headers.get('cookie')),
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
 * The `Set-Cookie` value that binds a login to the browser that began it (design.md §6). It applies to
 * the OAuth routes of one database; `Lax` sends it with a redirect from another site, not with a form.
 */
export function browserCookie(address: string, browser: string): string {
  const { pathname, protocol } = new URL(`${address}/oauth`)
  return [
    `${COOKIE_NAME}=${browser}`,
    `Path=${pathname}`,
    `Max-Age=${STATE_LIFE_MS / 1000}`,
    'HttpOnly',
    'SameSite=Lax',
    ...(protocol === 'https:' ? ['Secure'] : []),
  ].join('; ')
}

/** The secret in a `Cookie` header; undefined when there is none of the right form. */
export function readBrowser(header: string | null): string | undefined {
  const [, value] = COOKIE.exec(header ?? '') ?? []
  return value
}

const COOKIE_NAME = 'satchel-login'
const COOKIE = new RegExp(String.raw`(?:^|; *)${COOKIE_NAME}=([\w-]{43})(?:;|$)`)
