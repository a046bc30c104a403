import {
  type AdminSession,
  type AdminSessions,
  type LiveSession,
  roleOf,
  sessionEnded,
} from '../../auth/admin/sessions'
import type { Call } from '../call'

/** The header with the half of a session that a tab keeps. */
export const KEY_HEADER = 'satchel-admin-key'

/** The session of both halves. Throws `SESSION_ENDED`. */
export async function sessionOf(
  sessions: AdminSessions,
  call: Call,
  origin: string,
): Promise<LiveSession> {
  const key = call.sent.headers.get(KEY_HEADER)
  if (key === null) throw sessionEnded()
  return await sessions.use(cookiesOf(call, origin), key)
}

/** The sealed halves of the browser. Another program on this machine may have set cookies of the same name. */
export function cookiesOf({ sent }: Call, origin: string): readonly string[] {
  const name = `${cookieName(origin)}=`
  const found = sent.headers.get('cookie')?.split(/; */) ?? []
  return found.filter((part) => part.startsWith(name)).map((part) => part.slice(name.length))
}

/** The `Set-Cookie` of a session; an empty value removes it. */
export function cookieHeader(value: string, origin: string): string {
  const isSecure = origin.startsWith('https:')
  const parts = [
    `${cookieName(origin)}=${value}`,
    // `__Host-` takes no other path.
    isSecure ? 'Path=/' : 'Path=/admin',
    'HttpOnly',
    'SameSite=Strict',
    ...(isSecure ? ['Secure'] : []),
    ...(value === '' ? ['Max-Age=0'] : []),
  ]
  return parts.join('; ')
}

/** Cookies ignore ports: servers on other ports of this machine have cookies of other names. */
function cookieName(origin: string): string {
  const { protocol, port } = new URL(origin)
  return protocol === 'https:' ? '__Host-satchel-admin' : `satchel-admin-${port || '80'}`
}

/** A session as the page sees it; `databases` are those that it may use. */
export function describeSession(
  session: LiveSession,
  databases: readonly string[],
  others: readonly AdminSession[],
) {
  const { scopes, isReadOnly, ends, idleAt, confirmedUntil } = session
  const { client } = session
  const newest = others.find(
    (other) => other.id !== session.id && (client === null || other.client?.id === client.id),
  )
  return {
    role: roleOf(session),
    scopes,
    databases,
    isReadOnly,
    expiresAt: Math.min(ends, idleAt),
    confirmedUntil,
    email: client?.email ?? null,
    /** The newest other login, which each page shows; to a client only its own. */
    otherLogin: newest === undefined ? null : { at: newest.began, address: newest.address },
  }
}
