import { isIPv4, isIPv6, type Networks } from '../net/networks'

/**
 * The IP address that a request comes from, in one form: that of the socket or, when the socket is a
 * trusted proxy's, the last one in `X-Forwarded-For` that is not (design.md §2). Whoever is not
 * trusted can write what they like into the header: what stands before is not looked at. Empty when
 * the socket is gone.
 */
export function clientAddress(
  peer: string | undefined,
  headers: Headers,
  proxies: Networks | null,
): string {
  let address = plainAddress(peer ?? '')
  if (proxies === null || address === '') return address
  const forwarded = headers.get('x-forwarded-for')?.split(',') ?? []
  while (proxies.contains(address)) {
    const before = plainAddress(forwarded.pop() ?? '')
    if (!isIPv4(before) && !isIPv6(before)) break
    address = before
  }
  return address
}

/** Without a port and brackets, and an IPv4 address as such however the socket or a proxy writes it. */
function plainAddress(text: string): string {
  const [, bracketed] = /^\[([^\]]*)\](?::\d+)?$/.exec(text.trim()) ?? []
  const bare = bracketed ?? text.trim().replace(/^([\d.]+):\d+$/, '$1')
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare) ?? []
  return (mapped ?? bare).toLowerCase()
}
