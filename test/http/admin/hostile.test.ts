import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { findOperation, operationNames } from '../../../src/control/operations'
import { share } from '../../setup'
import { exchange } from '../setup'
import { eventsOf, setupAdmin } from './setup'

const shared = share(setupAdmin)

const HOSTILE = [
  '',
  '__proto__',
  'constructor',
  '<img src=x onerror=alert(1)>',
  '"\'`;--',
  '\u202eexe.jpg',
  '\ud800',
  '../../etc/passwd',
  '\u0000',
  'main\r\nSet-Cookie: x=y',
  'x'.repeat(100_000),
]

const text = fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: 'binary', maxLength: 20 }))
const value = fc.oneof(
  text,
  fc.jsonValue({ maxDepth: 3 }),
  fc.double(),
  fc.constantFrom('main', -1),
)

/** Operations that change nothing and come to an end by themselves. */
const READING = operationNames().filter((name) => {
  const { effect, follows, rest } = findOperation(name)!
  return effect === 'read' && follows !== true && rest === undefined && !name.startsWith('test.')
})

describe('hostile input', () => {
  test('of a browser that has not logged in is refused, and fails nothing', async () => {
    const areas = fc.constantFrom('session', 'otp', 'api', 'upload', 'ticket', 'file', 'mail', 'x')
    const methods = fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS')
    const bodies = fc.oneof(fc.json(), text, fc.constant('['.repeat(2_000)))
    await fc.assert(
      fc.asyncProperty(methods, areas, text, bodies, async (method, area, name, body) => {
        const path = `/${area}/${encodeURIComponent(name.toWellFormed()).slice(0, 1_000)}`
        const isRead = method === 'GET' || method === 'OPTIONS'
        const options = isRead ? {} : { body: body.toWellFormed() }
        const answer = await shared().browser().send(method, path, options)
        expect(answer.status).toBeGreaterThanOrEqual(400)
        expect(answer.status).toBeLessThan(500)
      }),
      { numRuns: 150 },
    )
  })

  test('of a browser that has logged in gives a refusal that says why', async () => {
    const browser = await shared().logIn()
    const calls = fc.constantFrom(...READING).chain((name) => {
      const fields = Object.keys(findOperation(name)!.input)
      const inputs = fc.record(Object.fromEntries(fields.map((field) => [field, value])), {
        requiredKeys: [],
      })
      return fc.record({ name: fc.constant(name), input: inputs })
    })
    await fc.assert(
      fc.asyncProperty(calls, async ({ name, input }) => {
        const given = Object.hasOwn(findOperation(name)!.input, 'database')
          ? { ...input, database: 'main' }
          : input
        const answer = await browser.send('POST', `/api/${name}`, { body: given })
        const last = (await eventsOf(answer)).at(-1)
        expect([name, last]).not.toMatchObject([name, { error: { code: 'INTERNAL' } }])
      }),
      { numRuns: 200 },
    )
    expect(shared().lines.filter((line) => line.includes('"level":"error"'))).toEqual([])
  })

  test('in a header of the log is one line', async () => {
    const before = shared().lines.length
    await exchange(
      shared().url,
      'GET /admin/api/a%0d%0ab HTTP/1.1\r\nHost: evil\r\nConnection: close\r\n\r\n',
    )
    const added = shared().lines.slice(before)
    expect(added).toHaveLength(1)
    expect(added[0]).not.toContain('\n')
  })
})
