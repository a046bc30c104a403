import { describe, expect, test } from 'bun:test'
import {
  describeMailAddress,
  holdsSecret,
  parseMailAddress,
  usualSender,
} from '../../src/mail/address'
import { parseSender } from '../../src/mail/message'

const SERVER = { kind: 'smtp', user: null, password: null, ca: null } as const

describe('the address of a mail server', () => {
  test.each([
    ['smtp://relay.example.com', { host: 'relay.example.com', port: 25, tls: 'offered' }],
    ['smtp://relay.example.com:2525/', { host: 'relay.example.com', port: 2525, tls: 'offered' }],
    ['smtp://[::1]:25', { host: '::1', port: 25, tls: 'offered' }],
    ['smtps://relay.example.com', { host: 'relay.example.com', port: 465, tls: 'implicit' }],
    ['smtp://relay.example.com?tls=off', { host: 'relay.example.com', port: 25, tls: 'off' }],
    [
      'smtp://relay.example.com?tls=required&ca=/etc/ca.pem',
      { host: 'relay.example.com', port: 25, tls: 'required', ca: '/etc/ca.pem' },
    ],
  ])('%s', (text, expected) => {
    expect(parseMailAddress(text)).toEqual({ ...SERVER, ...expected } as never)
  })

  test('with a password asks for encryption, unless it stays on this machine', () => {
    expect(parseMailAddress('smtp://me%40example.com:p%3Aw@relay.example.com')).toEqual({
      kind: 'smtp',
      host: 'relay.example.com',
      port: 587,
      tls: 'required',
      user: 'me@example.com',
      password: 'p:w',
      ca: null,
    })
    expect(parseMailAddress('smtp://me:pw@127.0.0.1:25')).toMatchObject({ tls: 'offered' })
    expect(parseMailAddress('smtp://me:pw@localhost:25')).toMatchObject({ tls: 'offered' })
  })

  test('is shown without its password', () => {
    const shown = describeMailAddress('smtp://me:secret@relay.example.com')
    expect(shown).toBe('smtp://me@relay.example.com:587')
    expect(describeMailAddress('smtps://relay.example.com')).toBe('smtps://relay.example.com:465')
    expect(holdsSecret('smtp://me:secret@relay.example.com')).toBe(true)
    expect(holdsSecret('smtp://relay.example.com')).toBe(false)
  })

  test.each([
    'relay.example.com',
    'smtp:relay',
    'smtp://',
    'ftp://relay.example.com',
    'smtp://me@relay.example.com',
    'smtp://relay.example.com/path',
    'smtp://relay.example.com?tls=perhaps',
    'smtp://relay.example.com?insecure=1',
    'https://me:pw@hook.example.com/',
  ])('is not %s', (text) => {
    expect(() => parseMailAddress(text)).toThrow()
  })
})

test('the address of a web hook is shown without its path, which may be all there is to know', () => {
  const hook = 'https://hooks.example.com/mail?key=4711'
  expect(parseMailAddress(hook)).toEqual({ kind: 'hook', url: hook })
  expect(describeMailAddress(hook)).toBe('https://hooks.example.com/…')
})

test('the user name at the mail server is the sender, if it is an address', () => {
  expect(usualSender('smtp://me%40example.com:pw@relay.example.com')).toBe('me@example.com')
  expect(usualSender('smtp://me:pw@relay.example.com')).toBeNull()
  expect(usualSender('smtp://relay.example.com')).toBeNull()
})

describe('a sender', () => {
  test.each([
    ['app@example.com', { name: '', address: 'app@example.com' }],
    ['My App <App@Example.com>', { name: 'My App', address: 'app@example.com' }],
    ['"My, App" <app@example.com>', { name: 'My, App', address: 'app@example.com' }],
    ['<app@example.com>', { name: '', address: 'app@example.com' }],
    ['Åsa <app@example.com>', { name: 'Åsa', address: 'app@example.com' }],
  ])('%s', (text, expected) => {
    expect(parseSender(text)).toEqual(expected)
  })

  test.each(['', 'My App', 'My App <app>', 'a@x.org, b@x.org', 'A\r\nBcc: b@x.org <a@x.org>'])(
    'is not %p',
    (text) => {
      expect(() => parseSender(text)).toThrow('a name and an address')
    },
  )
})
