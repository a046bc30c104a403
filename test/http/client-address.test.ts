import { describe, expect, test } from 'bun:test'
import { clientAddress } from '../../src/http/handler'
import { parseNetworks } from '../../src/net/networks'

const PROXIES = parseNetworks('10.0.0.0/8,fd00::/8')!
const PROXY = '10.1.2.3'

const through = (forwarded: string, peer = PROXY, proxies: typeof PROXIES | null = PROXIES) =>
  clientAddress(peer, new Headers({ 'x-forwarded-for': forwarded }), proxies)

describe('the address of a caller (design.md §2)', () => {
  test('is that of the socket, in one form', () => {
    const none = new Headers()
    expect(clientAddress('198.51.100.7', none, null)).toBe('198.51.100.7')
    expect(clientAddress('::ffff:198.51.100.7', none, PROXIES)).toBe('198.51.100.7')
    expect(clientAddress('2001:DB8::1', none, PROXIES)).toBe('2001:db8::1')
    expect(clientAddress(undefined, none, PROXIES)).toBe('')
  })

  test('is never what a caller that is no trusted proxy says', () => {
    expect(through('203.0.113.9', '198.51.100.7')).toBe('198.51.100.7')
    expect(through('203.0.113.9', PROXY, null)).toBe(PROXY)
  })

  test('is the last one that the chain of trusted proxies vouches for', () => {
    expect(through('203.0.113.9')).toBe('203.0.113.9')
    expect(through('203.0.113.9, 10.9.9.9')).toBe('203.0.113.9')
    expect(through('1.1.1.1, 203.0.113.9')).toBe('203.0.113.9')
    expect(through('1.1.1.1, 203.0.113.9, 10.9.9.9', '::ffff:10.1.2.3')).toBe('203.0.113.9')
    expect(through('203.0.113.9, fd00::5', 'fd00::1')).toBe('203.0.113.9')
  })

  test.each([
    ['203.0.113.9:4711', '203.0.113.9'],
    ['[2001:db8::9]:4711', '2001:db8::9'],
    ['[2001:DB8::9]', '2001:db8::9'],
    ['2001:db8::9', '2001:db8::9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
  ])('is read from %s', (forwarded, address) => {
    expect(through(forwarded)).toBe(address)
  })

  test.each(['', ' ', 'unknown', '_hidden', '203.0.113.999', '203.0.113.9 evil', '<script>', ','])(
    'is that of the proxy when it says %p',
    (forwarded) => {
      expect(through(forwarded)).toBe(PROXY)
    },
  )

  test('is that of the outermost proxy when all are trusted', () => {
    expect(through('10.5.5.5, 10.6.6.6')).toBe('10.5.5.5')
  })
})
