import { describe, expect, test } from 'bun:test'
import { originOf, requireOwnPage } from '../../../src/http/admin/origin'
import { SatchelError } from '../../../src/domain/value/error'
import { parseNetworks } from '../../../src/net/networks'

interface Case {
  readonly served?: string
  readonly origin?: string
  readonly networks?: string
  readonly proxies?: string
  readonly host: string
  readonly peer?: string
  /** Of the client, where that is not the peer. */
  readonly address?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** The origin, or the code of the refusal. */
function placeOf({ host, headers = {}, peer = '127.0.0.1', address = peer, ...rules }: Case) {
  const { served = 'http://127.0.0.1:7080', networks = '127.0.0.0/8,::1/128', proxies } = rules
  return outcome(() =>
    originOf(
      { headers: new Headers({ host, ...headers }), peer, address },
      {
        served: () => served,
        origin: rules.origin ?? null,
        networks: parseNetworks(networks)!,
        proxies: proxies === undefined ? null : parseNetworks(proxies)!,
      },
    ),
  )
}

function outcome<T>(work: () => T): T | string {
  try {
    return work()
  } catch (error) {
    return error instanceof SatchelError ? error.code : 'failed'
  }
}

const PUBLIC = { origin: 'https://data.example.com', networks: '0.0.0.0/0' }
const OVER_TLS = { ...PUBLIC, served: 'https://127.0.0.1:443', peer: '198.51.100.7' }
const BEHIND_PROXY = {
  ...PUBLIC,
  proxies: '10.0.0.1/32',
  peer: '10.0.0.1',
  address: '198.51.100.7',
  headers: { 'x-forwarded-for': '198.51.100.7' },
}

describe('on this machine', () => {
  test('the page answers at the names of loopback with the port of the server', () => {
    for (const host of ['127.0.0.1:7080', 'localhost:7080', '[::1]:7080']) {
      expect(placeOf({ host })).toBe(`http://${host}`)
    }
    expect(placeOf({ host: '[::1]:7080', peer: '::1' })).toBe('http://[::1]:7080')
    const overTls = { served: 'https://127.0.0.1:7443', host: 'localhost:7443' }
    expect(placeOf(overTls)).toBe('https://localhost:7443')
    expect(placeOf({ served: 'http://127.0.0.1:80', host: '127.0.0.1' })).toBe('http://127.0.0.1')
  })

  test('no other name leads to it, as a rebound DNS entry would', () => {
    const others = [
      'evil.example:7080',
      '127.0.0.1',
      '127.0.0.1:7081',
      '127.0.0.2:7080',
      'x.localhost:7080',
      'LOCALHOST:7080',
      'localhost.:7080',
      '127.1:7080',
      '2130706433:7080',
      '[::ffff:127.0.0.1]:7080',
      '127.0.0.1:7080, evil.example',
      'user@127.0.0.1:7080',
      '',
    ]
    for (const host of others) expect([host, placeOf({ host })]).toEqual([host, 'MISDIRECTED'])
  })

  test('other machines find nothing, whatever name they use', () => {
    const others = { peer: '192.168.1.9' }
    expect(placeOf({ ...others, host: '127.0.0.1:7080' })).toBe('UNKNOWN_ROUTE')
    expect(placeOf({ ...others, host: '192.168.1.5:7080' })).toBe('UNKNOWN_ROUTE')
    expect(placeOf({ host: '127.0.0.1:7080', peer: '' })).toBe('UNKNOWN_ROUTE')
  })

  test('a proxy that is not trusted finds nothing: its callers would seem to be here', () => {
    const names = ['x-forwarded-for', 'forwarded', 'x-forwarded-host', 'x-real-ip']
    for (const name of [...names, 'x-forwarded-proto', 'x-forwarded-port', 'x-forwarded-server']) {
      const place = placeOf({ host: '127.0.0.1:7080', headers: { [name]: 'x' } })
      expect([name, place]).toEqual([name, 'UNKNOWN_ROUTE'])
    }
  })
})

describe('at a public address', () => {
  test('the page answers by the TLS of the server, to the networks that are named', () => {
    expect(placeOf({ ...OVER_TLS, host: 'data.example.com' })).toBe('https://data.example.com')
    const networks = '192.0.2.0/24'
    expect(placeOf({ ...OVER_TLS, networks, host: 'data.example.com' })).toBe('UNKNOWN_ROUTE')
  })

  test('the page answers behind a trusted proxy', () => {
    expect(placeOf({ ...BEHIND_PROXY, host: 'data.example.com' })).toBe('https://data.example.com')
    const networks = '192.0.2.0/24'
    expect(placeOf({ ...BEHIND_PROXY, networks, host: 'data.example.com' })).toBe('UNKNOWN_ROUTE')
    expect(placeOf({ ...BEHIND_PROXY, host: '127.0.0.1:7080' })).toBe('MISDIRECTED')
    expect(placeOf({ ...BEHIND_PROXY, host: 'data.example.com:443' })).toBe('MISDIRECTED')
    const untrusted = { ...BEHIND_PROXY, peer: '10.0.0.2' }
    expect(placeOf({ ...untrusted, host: 'data.example.com' })).toBe('UNKNOWN_ROUTE')
  })

  test('plain http beyond this machine is refused', () => {
    const host = 'data.example.com'
    expect(placeOf({ ...PUBLIC, host })).toBe('MISDIRECTED')
    expect(placeOf({ ...OVER_TLS, origin: 'http://data.example.com', host })).toBe('MISDIRECTED')
    expect(placeOf({ ...BEHIND_PROXY, origin: 'http://data.example.com', host })).toBe(
      'MISDIRECTED',
    )
  })

  test('a port of this machine that leads into a container is an address too', () => {
    const container = { origin: 'http://127.0.0.1:8080', networks: '172.17.0.0/16' }
    const place = placeOf({ ...container, host: '127.0.0.1:8080', peer: '172.17.0.1' })
    expect(place).toBe('http://127.0.0.1:8080')
  })
})

describe('a request to the page', () => {
  const own = 'http://127.0.0.1:7080'
  const check = (headers: Readonly<Record<string, string>>, isChange = true) =>
    outcome(() => requireOwnPage(new Headers(headers), own, isChange)) ?? 'allowed'

  test('comes from the page itself', () => {
    expect(check({ origin: own, 'sec-fetch-site': 'same-origin' })).toBe('allowed')
    expect(check({ origin: own })).toBe('allowed')
    expect(check({ 'sec-fetch-site': 'same-origin' }, false)).toBe('allowed')
  })

  test('is refused from a page on another port, of another origin, or of none', () => {
    const others = ['http://127.0.0.1:7081', 'http://localhost:7080', 'https://evil.example']
    for (const origin of [...others, 'null', 'http://127.0.0.1:7080/', 'file://', '']) {
      expect([origin, check({ origin })]).toEqual([origin, 'ORIGIN_NOT_ALLOWED'])
      expect([origin, check({ origin }, false)]).toEqual([origin, 'ORIGIN_NOT_ALLOWED'])
    }
    expect(check({})).toBe('ORIGIN_NOT_ALLOWED')
  })

  test('is refused when its browser says that another page sends it', () => {
    for (const site of ['same-site', 'cross-site', 'none', '']) {
      const headers = { origin: own, 'sec-fetch-site': site }
      expect([site, check(headers)]).toEqual([site, 'ORIGIN_NOT_ALLOWED'])
      expect([site, check({ 'sec-fetch-site': site }, false)]).toEqual([site, 'ORIGIN_NOT_ALLOWED'])
    }
  })
})
