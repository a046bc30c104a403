import { expect, test } from 'bun:test'
import { isPublicAddress, parseNetworks } from '../../src/net/networks'

test.each([
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.2.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:8.8.8.8',
  '::127.0.0.1',
  '64:ff9b::7f00:1',
  '64:ff9b:1::7f00:1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::',
  '3fff::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fe80::1%eth0',
  'fec0::1',
  'ff02::1',
  'localhost',
  '',
])('%p is not a public address', (address) => {
  expect(isPublicAddress(address)).toBe(false)
})

test.each(['8.8.8.8', '172.15.255.255', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00::1'])(
  '%p is a public address',
  (address) => {
    expect(isPublicAddress(address)).toBe(true)
  },
)

test('networks contain the addresses of both versions that are in them', () => {
  const networks = parseNetworks('127.0.0.0/8, fd00::/8')
  expect(networks?.networks).toEqual(['127.0.0.0/8', 'fd00::/8'])
  const found = ['127.1.2.3', '::ffff:127.0.0.1', 'fd00::1', '128.0.0.1', 'fe80::1'].map(
    (address) => networks?.contains(address),
  )
  expect(found).toEqual([true, true, true, false, false])
})

test.each(['', '127.0.0.1', '127.0.0.0/33', '127.0.0.0/8/8', '127.0.0.0/', 'fd00::/129', 'a/8'])(
  '%p is no network',
  (text) => {
    expect(parseNetworks(text)).toBeUndefined()
  },
)
