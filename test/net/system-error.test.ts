import { expect, test } from 'bun:test'
import { lookup } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { systemSentence } from '../../src/net/system-error'
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

test('other errors have no sentence', () => {
  expect(systemSentence(new Error('constructor'))).toBeUndefined()
  expect(systemSentence(Object.assign(new Error('x'), { code: 'constructor' }))).toBeUndefined()
  expect(systemSentence('ENOENT')).toBeUndefined()
})
