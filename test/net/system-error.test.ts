import { expect, test } from 'bun:test'
import { lookup } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { get } from 'node:https'
import { connect } from 'node:net'
import { because, systemSentence } from '../../src/net/system-error'
import { temporaryFolder } from '../setup'

/** The error that `work` ends with. */
async function errorOf(work: () => unknown): Promise<unknown> {
  try {
    await work()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

test('a file that does not exist, and a folder instead of a file, are named', async () => {
  using folder = temporaryFolder()
  const missing = `${folder.path}/missing`
  expect(systemSentence(await errorOf(() => readFileSync(missing)))).toBe(
    `There is no file or folder ${missing}`,
  )
  expect(systemSentence(await errorOf(() => readFileSync(folder.path)))).toContain('is a folder')
})

test('a host that is not known is named', async () => {
  const error = await errorOf(() => lookup('nowhere.invalid'))
  expect(systemSentence(error)).toMatch(/^The (?:host .* is not known|name of the host)/)
})

test('an address at which nothing listens is named', async () => {
  const error = await errorOf(
    () =>
      new Promise((_, reject) => {
        connect({ host: '127.0.0.1', port: 1 }).once('error', reject)
      }),
  )
  expect(systemSentence(error)).toBe(
    'Nothing listens at 127.0.0.1 on port 1: check the address, and whether the server runs',
  )
})

test('an error that a library has wrapped is understood by its message', () => {
  const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND smtp.invalid'), { code: 'EDNS' })
  expect(systemSentence(unknown)).toBe(
    'The host smtp.invalid is not known: check its name and the network',
  )
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ESOCKET' })
  expect(systemSentence(refused)).toBe(
    'Nothing listens at 127.0.0.1:1: check the address, and whether the server runs',
  )
})

test('a reason follows “cannot be read”, for files and for hosts', async () => {
  using folder = temporaryFolder()
  expect(because(await errorOf(() => readFileSync(`${folder.path}/missing`)))).toBe(
    ': it does not exist',
  )
  expect(because(await errorOf(() => readFileSync(folder.path)))).toBe(': it is a folder')
  using plain = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  const request = () =>
    new Promise((_, reject) => {
      get({ host: '127.0.0.1', port: plain.port }).once('error', reject)
    })
  expect(because(await errorOf(request))).toBe(': it does not speak TLS at this port')
  expect(because(new Error('x'))).toBe('')
})

test.each([
  ['self signed certificate', 'signed by itself or by an unknown authority'],
  ['unable to verify the first certificate', 'unknown authority'],
  ['certificate has expired', 'has expired'],
  ['error:100000f7:SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER', 'instead of smtps://'],
  ["Hostname/IP does not match certificate's altnames: Host: a.b", 'for another name'],
])('%p of a mail server has a sentence', (message, sentence) => {
  const error = Object.assign(new Error(message), { code: 'ESOCKET' })
  expect(systemSentence(error)).toContain(sentence)
})

test('other errors have no sentence', () => {
  expect(systemSentence(new Error('constructor'))).toBeUndefined()
  expect(systemSentence(Object.assign(new Error('x'), { code: 'constructor' }))).toBeUndefined()
  expect(systemSentence('ENOENT')).toBeUndefined()
})
