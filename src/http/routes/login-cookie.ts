import { STATE_LIFE } from '../../auth/provider/login-state'

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
