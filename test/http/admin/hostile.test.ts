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

/** Those that end the login, take minutes, or call other machines. */
const APART = /^(?:test\.|session\.|backup|db\.|provider\.test|mail\.test|policy\.test)/
/** Operations that change something, but for those. */
const WRITING = operationNames().filter((name) => {
  const { effect, rest } = findOperation(name)!
  return effect !== 'read' && rest === undefined && !APART.test(name)
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
    expect(await attack(shared(), READING, value)).toEqual([])
  })

  test('of one that changes something gives a refusal, too, and fails nothing', async () => {
    await using server = await setupAdmin()
    const values = fc.oneof(text, fc.jsonValue({ maxDepth: 2 }))
    expect(await attack(server, WRITING, values)).toEqual([])
    // Of the right type nearly everywhere, so that more than the types is checked.
    const typed = (name: string, field: string) => {
      const { type } = findOperation(name)!.input[field]!.schema
      if (type === 'string') return text
      if (type === 'integer' || type === 'number') return fc.oneof(fc.integer(), fc.double())
      if (type === 'boolean') return fc.boolean()
      return type === 'array'
        ? fc.array(text)
        : fc.oneof(fc.jsonValue(), fc.dictionary(text, value))
    }
    expect(await attack(server, WRITING, typed)).toEqual([])
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

type Values = fc.Arbitrary<unknown> | ((name: string, field: string) => fc.Arbitrary<unknown>)

/** Calls operations with these values in their fields, none of which may fail the server; returns the errors in its log. */
async function attack(
  server: Awaited<ReturnType<typeof setupAdmin>>,
  names: readonly string[],
  values: Values,
): Promise<string[]> {
  const browser = await server.logIn()
  const valueOf = typeof values === 'function' ? values : () => values
  const calls = fc.constantFrom(...names).chain((name) => {
    const fields = Object.keys(findOperation(name)!.input)
    const input = fc.record(
      Object.fromEntries(fields.map((field) => [field, valueOf(name, field)])),
      { requiredKeys: [] },
    )
    return fc.record({ name: fc.constant(name), input })
  })
  await fc.assert(
    fc.asyncProperty(calls, async ({ name, input }) => {
      const { input: fields, effect } = findOperation(name)!
      const named = Object.hasOwn(fields, 'database') ? { database: 'main' } : {}
      const confirm = effect === 'destroy' ? Object.values(input).findLast(isText) : undefined
      const body = { ...input, ...named, ...(confirm === undefined ? {} : { confirm }) }
      const last = (await eventsOf(await browser.send('POST', `/api/${name}`, { body }))).at(-1)
      expect([name, last]).not.toMatchObject([name, { error: { code: 'INTERNAL' } }])
    }),
    { numRuns: 200 },
  )
  return server.lines.filter((line) => line.includes('"level":"error"'))
}

const isText = (value: unknown) => typeof value === 'string'
