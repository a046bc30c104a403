import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { parseJson } from '../../src/domain/json/scan'
import { SatchelError } from '../../src/domain/value/error'
import { ALICE, setupData } from '../http/setup'
import { shortestTime } from '../timing'
import { setupExecutable } from './setup'

/**
 * Promise 29: deep or endless JSON. A million levels or ten million values are refused before they
 * are parsed, in < 50 ms and < 50 MB; every error body is ≤ 4 KiB for any input.
 */

const LIMITS = { depth: 64, values: 1_000_000 }

const BOMBS: Readonly<Record<string, () => string>> = {
  'a million open arrays': () => '['.repeat(1_000_000),
  'a million arrays': () => '['.repeat(1_000_000) + ']'.repeat(1_000_000),
  'a million objects': () => `${'{"a":'.repeat(1_000_000)}1${'}'.repeat(1_000_000)}`,
  'five million levels': () => '[{"x":'.repeat(2_500_000),
  'depth behind text': () => `{"id":"${'x'.repeat(1_000_000)}","x":${'['.repeat(1_000_000)}`,
  'depth behind strings full of brackets': () =>
    `["${'[{'.repeat(1_000_000)}",${'['.repeat(65)}${']'.repeat(66)}`,
  'ten million values': () => `[${'0,'.repeat(7_000_000)}0]`,
  'ten million empty arrays': () => `[${'[],'.repeat(5_000_000)}[]]`,
  'ten million members': () => `{${'"":0,'.repeat(3_000_000)}"":0}`,
  'two million open commas': () => `[${','.repeat(2_000_000)}`,
}

/** More with SATCHEL_RUNS=10000, others with SATCHEL_SEED. */
const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 40)
const SEED = Number(process.env['SATCHEL_SEED'] ?? 29)

describe('promise 29: refused before it is parsed', () => {
  test.each(Object.entries(BOMBS))(
    '%s: sooner than it could be parsed, in < 50 MB',
    async (_, make) => {
      const bytes = Buffer.from(make())
      const codes = new Set<string>()
      const attempt = () => {
        try {
          parseJson(bytes, LIMITS)
        } catch (error) {
          if (!(error instanceof SatchelError)) throw error
          codes.add(error.code)
        }
      }
      const flat = `[${'0,'.repeat(bytes.length >> 1)}0]`
      let [refusing, parsing, memory] = [Infinity, Infinity, Infinity]
      // Other work of the machine and of this process only adds: the least of a few rounds counts.
      for (let round = 0; round < 5; round += 1) {
        Bun.gc(true)
        const before = process.memoryUsage()
        refusing = Math.min(refusing, await shortestTime(1, attempt))
        const after = process.memoryUsage()
        const added = Math.max(after.heapUsed - before.heapUsed, after.rss - before.rss)
        memory = Math.min(memory, added)
        parsing = Math.min(parsing, await shortestTime(1, () => JSON.parse(flat)))
      }
      expect(codes).toEqual(new Set(['UNPROCESSABLE']))
      expect(refusing / parsing).toBeLessThan(2)
      expect(memory).toBeLessThan(50 * 1024 * 1024)
    },
  )

  test('by the executable too, which answers everybody else meanwhile', async () => {
    await using executable = await setupExecutable()
    const alice = await executable.as(ALICE)
    for (const make of Object.values(BOMBS)) {
      const body = make()
      if (body.length > 16 * 1024 * 1024) continue
      const answer = await alice.send('POST', '/my/plain', { body })
      expect(answer).toMatchObject({ status: 422, body: { code: 'UNPROCESSABLE' } })
      expect(answer.text.length).toBeLessThan(500)
      expect((await alice.get('/my/plain')).status).toBe(200)
    }
    expect(executable.memory().peak).toBeLessThan(512)
  })
})

describe('promise 29: every error body is at most 4 KiB', () => {
  const noise = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 3000 }),
    fc
      .constantFrom('"', '\\', '用', '😀', '\u0001', '\u009b', '\ud800', '%', '&')
      .map((unit) => unit.repeat(2000)),
  )

  test('for any input, at any route', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const escape = (text: string) => encodeURIComponent(text.toWellFormed()).slice(0, 6000)
    const sends: ((text: string) => Promise<{ status: number; text: string }>)[] = [
      (text) => alice.get(`/my/${escape(text)}`),
      (text) => alice.get(`/my/${escape(text)}/${escape(text)}`),
      (text) => alice.get(`/my/plain/${escape(text)}`),
      (text) => alice.get(`/my/pairs/${escape(text)}`),
      (text) => alice.get(`/my/plain?$${escape(text)}=${escape(text)}`),
      (text) => alice.get(`/my/plain?$limit=${escape(text)}`),
      (text) => alice.get(`/my/plain?$after=${escape(text)}`),
      (text) => alice.post('/my/plain', { id: text, [`$${text}`]: text }),
      (text) => alice.post('/my/plain', { [text]: { [text]: [{ [`$${text}`]: 1 }] } }),
      (text) => alice.post('/my/pairs', { a: text, b: { [text]: text } }),
      (text) => alice.post('/my/plain', { id: 'a', realmId: text, owner: text }),
      (text) => alice.post('/my/members', { realmId: text, permissions: { [text]: [text] } }),
      (text) => alice.post('/my/members', { permissions: { update: { [text]: { [text]: 1 } } } }),
      (text) => alice.post('/my/roles', { realmId: text, name: text, permissions: text }),
      (text) => alice.post('/my/realms', { realmId: text, owner: text }),
      (text) => alice.send('POST', '/my/plain', { body: text }),
      (text) => alice.send('POST', '/my/plain', { body: `{"id":"${text}` }),
      (text) => alice.post('/token', { grant_type: text, scopes: [text, text], claims: text }),
      (text) => alice.send('GET', '/my/plain', { headers: { origin: `https://${escape(text)}` } }),
    ]
    await fc.assert(
      fc.asyncProperty(noise, async (text) => {
        for (const [position, send] of sends.entries()) {
          const answer = await send(text)
          const isError = answer.status >= 400
          const bytes = Buffer.byteLength(answer.text)
          if (answer.status >= 500) throw new Error(`${position}: ${answer.status} ${answer.text}`)
          if (isError && bytes > 4096) throw new Error(`${position}: ${bytes} bytes`)
        }
      }),
      { numRuns: RUNS, seed: SEED },
    )
  })
})
