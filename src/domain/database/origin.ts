import type { Clock } from '../../clock'
import { quoted, SatchelError, unprocessable } from '../value/error'
import type { ReadTx, WriteTx } from '../store/store'
import { isWeb, isLoopbackHost } from '../value/web-address'

/**
 * Lists an origin, or an address for OAuth redirects when it has a path; adding it twice is adding
 * it once. `force` permits http beyond this machine. Returns it as it was listed. Throws
 * `UNPROCESSABLE` with the reason.
 */
export function addOrigin(tx: WriteTx, clock: Clock, text: string, { force = false } = {}): string {
  const id = canonicalOrigin(text, force)
  if (tx.origins.find(id) === undefined) tx.origins.put({ id, created: clock.now() })
  return id
}

/** False when it was not listed. Throws `UNPROCESSABLE` when it cannot be. */
export function removeOrigin(tx: WriteTx, text: string): boolean {
  return tx.origins.remove(canonicalOrigin(text, true))
}

/** In the order they were listed. */
export function listOrigins(tx: ReadTx): string[] {
  const origins = tx.origins.list()
  return origins.toSorted((a, b) => a.created - b.created).map((origin) => origin.id)
}

/**
 * True when one of the listed `origins` is the value of an `Origin` header, exactly. The pages of
 * an Electron application have none of their own: they send `null` or `file://`, and one `app:`
 * entry permits them (protocol.md §11, design.md §6).
 */
export function isOriginAllowed(origins: readonly string[], header: string): boolean {
  if (header === 'null' || header === 'file://') {
    return origins.some(isApplication)
  }
  return origins.some((listed) => !isApplication(listed) && originOf(listed) === header)
}

/** True for a page served from this machine: `http://localhost:5173`, `https://127.0.0.1`. */
export function isLoopbackOrigin(header: string): boolean {
  const url = URL.parse(header)
  if (url === null || url.origin !== header) return false
  return isWeb(url) && isLoopbackHost(url.hostname)
}

/** True for an entry that names an Electron application, `app:My App`, not an address such as `app://my.app`. */
export function isApplication(listed: string): boolean {
  return listed.startsWith(APPLICATION) && !listed.startsWith(`${APPLICATION}//`)
}

/** The names of the Electron applications among the listed `origins`. */
export function applicationNames(origins: readonly string[]): string[] {
  return origins.filter(isApplication).map((entry) => entry.slice(APPLICATION.length))
}

const APPLICATION = 'app:'
const MAX_LENGTH = 2048
const FORMS =
  'write https://host, http://localhost:port, capacitor://localhost, app://my.app, app:Name or myapp:'

/** Schemes that a browser runs or that name no application. */
const REFUSED_SCHEMES = new Set([
  'about:',
  'blob:',
  'chrome:',
  'data:',
  'file:',
  'filesystem:',
  'ftp:',
  'javascript:',
  'mailto:',
  'tel:',
  'vbscript:',
  'view-source:',
  'ws:',
  'wss:',
])

/**
 * The one form of an entry: what a browser writes into its `Origin` header, then the path if any.
 */
function canonicalOrigin(text: string, force: boolean): string {
  const entry = text.trim()
  if (entry.length > MAX_LENGTH) throw refusal(entry, 'it is too long')
  if (/\p{Cc}/u.test(entry) || !entry.isWellFormed()) throw refusal(entry, 'it is not an address')
  const application = APPLICATION_NAME.exec(entry)?.[1]?.trim()
  if (application !== undefined) return canonicalApplication(entry, application)
  if (/[\s*\\]/.test(entry)) throw refusal(entry, 'blanks, "*" and "\\" are not allowed')
  const url = URL.parse(entry)
  if (url === null) throw refusal(entry, FORMS)
  if (REFUSED_SCHEMES.has(url.protocol)) throw refusal(entry, 'pages of this kind may not call')
  if (url.username !== '' || url.password !== '') throw refusal(entry, 'it names a user')
  if (/[?#]/.test(entry)) throw refusal(entry, 'it has a query or a fragment')
  return isWeb(url) ? canonicalWebOrigin(entry, url, force) : canonicalCustomOrigin(entry, url)
}

/** `app:My App`, or `app://My App` as one help text has it: an address has no blanks. */
const APPLICATION_NAME = /^app:(?:\/\/(?=.*\s|$))?(?!\/\/)(.*)$/i

function canonicalApplication(entry: string, name: string): string {
  if (name === '') throw refusal(entry, 'the name of the application is missing')
  return APPLICATION + name
}

function canonicalWebOrigin(entry: string, url: URL, force: boolean): string {
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname) && !force) {
    throw refusal(entry, 'beyond this machine it must be https, or forced with --force')
  }
  return url.origin + (url.pathname === '/' ? '' : url.pathname)
}

/** Browsers write the host of an origin in small letters, also where their parser keeps large ones. */
function canonicalCustomOrigin(entry: string, url: URL): string {
  if (url.host === '' && url.pathname === '') return url.protocol
  if (url.host === '' && !entry.includes('://')) throw refusal(entry, FORMS)
  return `${url.protocol}//${url.host.toLowerCase()}${url.pathname === '/' ? '' : url.pathname}`
}

/** The part of an entry that an `Origin` header can show. */
function originOf(listed: string): string {
  return /^[^:]+:\/\/[^/]*/.exec(listed)?.[0] ?? listed
}

function refusal(entry: string, why: string): SatchelError {
  return unprocessable(`${quoted(entry)} cannot be listed: ${why}`)
}
