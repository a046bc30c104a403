import { describe, expect, test } from 'bun:test'
import { requireRedirect, withParameter } from '../../../src/domain/database/redirect'
import { codeOf } from '../../auth/setup'
import { BYPASSES, LISTED } from '../bypasses'

const RULES = { listed: LISTED, isDevelopment: false }

// design.md §6
test.each([
  'https://app.example.com',
  'https://app.example.com/',
  'https://app.example.com/any/page?with=query&x#and-hash',
  'https://APP.example.com:443/',
  'https://shop.example.com:8443/cart',
  'https://one.example.com/login/done',
  'https://one.example.com/login/./done?x=y',
  'http://localhost:5173/todo',
  'capacitor://localhost/index.html',
  'myapp://',
  'myapp:',
  'myapp://anything/at/all?x',
  'MyApp://x',
  'deep://login/done?x',
])('a login may return to %p', (address) => {
  expect(requireRedirect(address, RULES).href).toBe(new URL(address).href)
})

test('a login may return to this machine without a list while it is development', () => {
  const rules = { listed: [], isDevelopment: true }
  expect(requireRedirect('http://localhost:3000/x', rules).port).toBe('3000')
  expect(requireRedirect('http://127.0.0.1:3000/x', rules).port).toBe('3000')
  expect(() => requireRedirect('http://localhost.evil.com/', rules)).toThrow('may not return')
  expect(() => requireRedirect('myapp://x', rules)).toThrow('may not return')
})

// promises.md 19
describe('promise 19: a login returns to no address that only looks like one that is listed', () => {
  test('sixty and more', () => expect(BYPASSES.length).toBeGreaterThan(60))

  test.each(BYPASSES)('%j', async (address) => {
    const code = await codeOf(() => requireRedirect(address, RULES))
    expect(['INVALID_REQUEST', 'ORIGIN_NOT_ALLOWED']).toContain(code)
  })
})

// protocol.md §3.3
test.each([
  ['https://a.b', 'https://a.b/?p=v'],
  ['https://a.b/#hash', 'https://a.b/?p=v#hash'],
  ['https://a.b/x?y=z', 'https://a.b/x?y=z&p=v'],
  ['https://a.b/x?y=%20+&flag&e=#/route?q', 'https://a.b/x?y=%20+&flag&e=&p=v#/route?q'],
  ['https://a.b/?', 'https://a.b/?p=v'],
  ['myapp://', 'myapp://?p=v'],
  ['myapp:', 'myapp:?p=v'],
  ['myapp:done?x=1#h', 'myapp:done?x=1&p=v#h'],
])('%p with a parameter is %p', (address, expected) => {
  expect(withParameter(new URL(address), 'p', 'v')).toBe(expected)
})

test('a parameter of the same name that was there before is gone, however it is written', () => {
  const url = new URL('https://a.b/?dxc-auth=evil&x=1&dxc%2Dauth=evil&dxc-auth&x=2')
  expect(withParameter(url, 'dxc-auth', 'ours')).toBe('https://a.b/?x=1&x=2&dxc-auth=ours')
})
