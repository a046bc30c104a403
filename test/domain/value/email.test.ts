import { expect, test } from 'bun:test'
import { requireEmail } from '../../../src/domain/value/email'
import { shortestTime } from '../../timing'

test.each([
  ['alice@example.com', 'alice@example.com'],
  [' Alice@Example.COM\n', 'alice@example.com'],
  ["o'brien+tag@sub.example.co.uk", "o'brien+tag@sub.example.co.uk"],
  ['åsa@räksmörgås.example', 'åsa@räksmörgås.example'],
  ['root@localhost', 'root@localhost'],
  ['kim@r3---x.example', 'kim@r3---x.example'],
  ['anna@straße.example', 'anna@straße.example'],
  ['anna@xn--strae-oqa.example', 'anna@xn--strae-oqa.example'],
])('%p is an address', (text, email) => {
  expect(requireEmail(text)).toBe(email)
})

test.each([
  undefined,
  7,
  '',
  'alice',
  '@example.com',
  'alice@',
  'alice@@example.com',
  'alice@example..com',
  'alice@.example.com',
  'alice@-example.com',
  '.alice@example.com',
  'al..ice@example.com',
  'alice@example.com,bob@example.com',
  'alice@example.com bob@example.com',
  'Alice <alice@example.com>',
  '"al ice"@example.com',
  'alice@[127.0.0.1]',
  'alice@example.com\u0000',
  'alice@example.com\r\nBcc: bob@example.com',
  '\ud800@example.com',
  `${'a'.repeat(65)}@example.com`,
  `alice@${'a'.repeat(250)}.com`,
])('%p is none', (text) => {
  expect(() => requireEmail(text)).toThrow('That is not an e-mail address')
})

test.each([
  'alice@ｅxample.com',
  'alice@EXAMPLE.ⅽom',
  'alice@exam\ufe0fple.com',
  'alice@exam\u034fple.com',
  'alice@ﬁsh.example',
  'foo@ｄemo.local',
  'mi\u212ae@example.com',
  'alice@xn--zzzz.example',
])('%p, which leads to the mailbox of another address, is none', (text) => {
  expect(() => requireEmail(text)).toThrow('That is not an e-mail address')
})

test('an address that could be split in many ways is refused as fast as any other', async () => {
  const refuse = (text: string) =>
    shortestTime(20, () => {
      for (let n = 0; n < 20; n += 1) expect(() => requireEmail(text)).toThrow()
    })
  const plain = await refuse(`${'a'.repeat(242)}!`)
  for (const text of [`a@${'a.'.repeat(120)}!`, `a@${'a-'.repeat(120)}!`, `${'a.'.repeat(120)}@`]) {
    expect((await refuse(text)) / plain).toBeLessThan(20)
  }
})
