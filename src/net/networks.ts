import process from 'node:process'

/** A set of IP networks. */
export interface Networks {
  /** In CIDR notation, `10.0.0.0/8`. */
  readonly networks: readonly string[]
  contains(address: string): boolean
}

/**
 * False for an address that belongs to this machine, to a private network or to a special purpose
 * (the registries of RFC 6890): no host of the open internet has it.
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !special().contains(address)
  return isIPv6(address) && global().contains(address) && !special().contains(address)
}

/** Networks in CIDR notation, separated by commas; undefined when they cannot be read. */
export function parseNetworks(text: string): Networks | undefined {
  const networks = text.split(',').map((network) => network.trim())
  // Loaded on demand: it would take a tenth of the start-up time of a server.
  const { BlockList } = process.getBuiltinModule('node:net')
  const list = new BlockList()
  for (const network of networks) {
    const [base = '', prefix, ...rest] = network.split('/')
    const isKnown = isIPv4(base) || isIPv6(base)
    const longest = isIPv6(base) ? 128 : 32
    const isLength = prefix !== undefined && /^\d{1,3}$/.test(prefix) && Number(prefix) <= longest
    if (!isKnown || !isLength || rest.length > 0) return undefined
    list.addSubnet(base, Number(prefix), familyOf(base))
  }
  return Object.freeze({
    networks,
    contains: (address: string) => list.check(address, familyOf(address)),
  })
}

/** The part of an address that one customer usually has: an IPv4 address, or 64 bits of an IPv6 address. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::', 2)
  const first = head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  const missing = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length)
  const groups = [...first, ...Array.from({ length: missing }, () => '0'), ...last]
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group || '0', 16).toString(16))
    .join(':')
}

export function isIPv4(text: string): boolean {
  return /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(text)
}

export function isIPv6(text: string): boolean {
  return text.includes(':') && /^[\da-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]/`)
}

const special = lazily(
  '0.0.0.0/8,10.0.0.0/8,100.64.0.0/10,127.0.0.0/8,169.254.0.0/16,172.16.0.0/12,192.0.0.0/24,' +
    '192.0.2.0/24,192.88.99.0/24,192.168.0.0/16,198.18.0.0/15,198.51.100.0/24,203.0.113.0/24,' +
    '224.0.0.0/4,240.0.0.0/4,2001::/23,2001:db8::/32,2002::/16,3fff::/20',
)
/** All other IPv6 addresses are special, so an embedded IPv4 address is never public. */
const global = lazily('2000::/3')

function lazily(text: string): () => Networks {
  let networks: Networks | undefined
  return () => (networks ??= parseNetworks(text)!)
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4'
}

/** True for addresses that only this machine can reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))
}
