import { isLoopbackHost, parseWebAddress } from '../domain/value/web-address'

/** A mail server (RFC 5321), as `smtp://user:password@host:port?tls=…&ca=…` names it. */
export interface SmtpAddress {
  readonly kind: 'smtp'
  readonly host: string
  readonly port: number
  /**
   * `implicit`: TLS from the first byte (smtps). `required`: STARTTLS or nothing. `offered`: STARTTLS
   * when the server offers it, without authentication (RFC 7435). `off`: never.
   */
  readonly tls: 'implicit' | 'required' | 'offered' | 'off'
  readonly user: string | null
  readonly password: string | null
  /** The file (PEM) of the certificate authority of the server, when it is not a public one. */
  readonly ca: string | null
}

/** A web hook that sends the mails. */
export interface HookAddress {
  readonly kind: 'hook'
  readonly url: string
}

/** The destination of mails. */
export type MailAddress = SmtpAddress | HookAddress

/** Throws an error with the expected form. */
export function parseMailAddress(text: string): MailAddress {
  const url = URL.parse(text.trim())
  const read = url === null ? undefined : READERS.get(url.protocol)
  if (url === null || read === undefined || url.hostname === '') throw new Error(EXPECTED)
  return read(url)
}

/** The address without its secrets: `smtp://mail@smtp.example.com:587`. */
export function describeMailAddress(text: string): string {
  const address = parseMailAddress(text)
  if (address.kind === 'hook') return `${new URL(address.url).origin}/…`
  const { host, port, user, tls } = address
  const name = user === null ? '' : `${encodeURIComponent(user)}@`
  return `${tls === 'implicit' ? 'smtps' : 'smtp'}://${name}${host}:${port}`
}

/** True for the address of a web hook; false for all other texts. */
export function isMailHook(text: string): boolean {
  try {
    return parseMailAddress(text).kind === 'hook'
  } catch {
    return false
  }
}

/** True for an address with a password. */
export function holdsSecret(text: string): boolean {
  const address = parseMailAddress(text)
  return address.kind === 'smtp' && address.password !== null
}

/** The default sender: on this machine, or for a hook that has a sender of its own. */
export const NOBODY = 'Satchel <noreply@localhost>'

/** The default sender, or null when a sender must be given: servers refuse made-up ones. */
export function usualSender(text: string): string | null {
  const address = parseMailAddress(text)
  if (address.kind === 'hook') return NOBODY
  return address.user !== null && address.user.includes('@') ? address.user : null
}

const EXPECTED =
  'smtp://user:password@host:port, smtps://… for TLS from the first byte, or the https address of a web hook'

const READERS = new Map<string, (url: URL) => MailAddress>([
  ['smtp:', (url) => readSmtp(url, 'smtp')],
  ['smtps:', (url) => readSmtp(url, 'smtps')],
  ['https:', readHook],
  ['http:', readHook],
])

function readHook(url: URL): HookAddress {
  if (parseWebAddress(url.href) === undefined) throw new Error(EXPECTED)
  return { kind: 'hook', url: url.href }
}

function readSmtp(url: URL, scheme: 'smtp' | 'smtps'): SmtpAddress {
  const { hostname, port, searchParams } = url
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const user = decode(url.username)
  const password = decode(url.password)
  if ((user === null) !== (password === null) || !/^\/?$/.test(url.pathname)) {
    throw new Error(EXPECTED)
  }
  for (const name of searchParams.keys()) {
    if (name !== 'tls' && name !== 'ca') throw new Error('an address with ?tls= and ?ca= at most')
  }
  const isOwnMachine = isLoopbackHost(hostname)
  // A password is never sent without TLS, except within this machine.
  const usual = user !== null && !isOwnMachine ? 'required' : 'offered'
  return {
    kind: 'smtp',
    host,
    port: Number(port) || (scheme === 'smtps' ? 465 : user === null ? 25 : 587),
    tls: scheme === 'smtps' ? 'implicit' : readTls(searchParams.get('tls') ?? usual),
    user,
    password,
    ca: searchParams.get('ca'),
  }
}

function readTls(text: string): SmtpAddress['tls'] {
  if (text === 'required' || text === 'offered' || text === 'off') return text
  throw new Error('an address whose tls is required, offered or off')
}

function decode(text: string): string | null {
  return text === '' ? null : decodeURIComponent(text)
}
