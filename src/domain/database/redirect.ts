import { quoted, SatchelError, invalidRequest } from '../value/error'
import { isApplication } from './origin'
import { isLoopbackHost, isWeb } from '../value/web-address'

export interface RedirectRules {
  /** The listed origins (`listOrigins`). */
  readonly listed: readonly string[]
  /** Pages of this machine need not be listed (design.md §2 Development). */
  readonly isDevelopment: boolean
}

/**
 * The address to which a login may redirect the browser (design.md §6): a page of a
 * listed origin, by https or on this machine, or an address of a listed scheme, `myapp:`. An entry
 * with a path allows only that path. The address is parsed here once and never read as text again
 * (promise 19). Throws `INVALID_REQUEST` for an invalid address and `ORIGIN_NOT_ALLOWED` for one
 * that is not listed.
 */
export function requireRedirect(
  text: string | null,
  { listed, isDevelopment }: RedirectRules,
): URL {
  if (text === null || text === '') throw malformed('is missing')
  const url = PLAIN.test(text) && text.length <= MAX_LENGTH ? URL.parse(text) : null
  if (url === null) throw malformed('is not an address')
  if (url.username !== '' || url.password !== '') throw malformed('names a user')
  const isAllowed = isWeb(url)
    ? isAllowedPage(url, listed, isDevelopment)
    : listed.some((entry) => !isApplication(entry) && isCustomMatch(url, entry))
  if (isAllowed) return url
  const shown = quoted(isWeb(url) ? url.origin : url.protocol)
  throw new SatchelError(
    'ORIGIN_NOT_ALLOWED',
    `The login may not return to ${shown}: list it with satchel origin add`,
  )
}

/**
 * The address with one more parameter at the end of its query, whose other parts stay as they are
 * (protocol.md §3.3). An existing one of that name is removed: a reader of the first would
 * mistake it for this one.
 */
export function withParameter(url: URL, name: string, value: string): string {
  const kept = url.search
    .slice(1)
    .split('&')
    .filter((pair) => pair !== '' && !new URLSearchParams(pair).has(name))
  const result = new URL(url)
  result.search = [...kept, `${name}=${value}`].join('&')
  return result.href
}

/** Characters that a parser would drop or convert are not allowed in an address. */
const PLAIN = /^[^\p{Cc}\s\\]+$/u
const MAX_LENGTH = 2048

function isAllowedPage(url: URL, listed: readonly string[], isDevelopment: boolean): boolean {
  const isLoopback = isLoopbackHost(url.hostname)
  if (url.protocol === 'http:' && !isLoopback) return false
  if (isDevelopment && isLoopback) return true
  return listed.some((entry) => {
    const page = URL.parse(entry)
    return page !== null && page.origin === url.origin && hasPathOf(url, page)
  })
}

/** `myapp:` stands for all its addresses, `myapp://login` for those of that host. */
function isCustomMatch(url: URL, entry: string): boolean {
  const allowed = URL.parse(entry)
  if (allowed === null || isWeb(allowed) || allowed.protocol !== url.protocol) return false
  return (
    entry === allowed.protocol ||
    (allowed.host === url.host.toLowerCase() && hasPathOf(url, allowed))
  )
}

function hasPathOf(url: URL, { pathname }: URL): boolean {
  return pathname === '/' || pathname === '' || pathname === url.pathname
}

function malformed(what: string): SatchelError {
  return invalidRequest(`The address to return to, redirect_uri, ${what}`)
}
