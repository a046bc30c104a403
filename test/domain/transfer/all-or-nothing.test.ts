import * as fc from 'fast-check'
import { expect, test } from 'bun:test'
import { SatchelError } from '../../../src/domain/value/error'
import { expectNothingLeft, lines, setupDatabase } from './setup'

const TEXTS = [
  'rlm-a',
  'rlm-b',
  'rlm-public',
  'rlm',
  'ann@demo.local',
  'Ann@Demo.local',
  'ann',
  '#x',
  '#x:ann',
  '',
  '..',
  '\u0001',
  '\ud800',
  '["rlm-a","boss"]',
  '["x",1]',
  '["x", 2 ]',
  '[]',
  'x'.repeat(2_000),
]

/** Mostly good, now and then bad. */
function part(...good: readonly unknown[]): fc.Arbitrary<unknown> {
  return fc.oneof(
    { arbitrary: fc.constantFrom(...good), weight: 20 },
    { arbitrary: fc.constantFrom(...TEXTS, 5, true, {}, []), weight: 1 },
  )
}

const OBJECT = fc.record(
  {
    name: part('boss'),
    owner: part(null, 'ann'),
    userId: part('ann'),
    email: part('ann@demo.local', null),
    roles: part(['boss'], null),
    permissions: part({ add: '*' }, { manage: ['todo'] }, { update: { todo: '*' } }),
    accepted: part({ $t: 'Date', v: '2030-01-01T00:00:00.000Z' }),
  },
  { requiredKeys: [] },
)

/** Realm and key of objects, by table. */
const PLACES: Readonly<Record<string, readonly [string, string][]>> = {
  todo: [
    ['rlm-a', 'k1'],
    ['rlm-b', 'k2'],
    ['rlm-public', 'k2'],
    ['ann', '#x:ann'],
  ],
  plain: [
    ['ann', 'k1'],
    ['rlm-b', 'k2'],
  ],
  pairs: [
    ['rlm-b', '["x",1]'],
    ['rlm-public', '["x", "y"]'],
  ],
  realms: [
    ['rlm-a', 'rlm-a'],
    ['rlm-b', 'rlm-b'],
  ],
  members: [
    ['rlm-a', 'm1'],
    ['rlm-b', 'm2'],
  ],
  roles: [
    ['rlm-a', '["rlm-a","boss"]'],
    ['rlm-b', '["rlm-b","boss"]'],
  ],
}

const LINE = fc.oneof(
  ...Object.entries(PLACES).map(([table, places]) =>
    fc.constantFrom(...places).chain(([realm, id]) =>
      fc.record({
        realm: part(realm),
        table: fc.constant(table),
        id: part(id),
        data: fc.oneof(
          { arbitrary: OBJECT, weight: 6 },
          { arbitrary: fc.constant(null), weight: 2 },
          { arbitrary: part({ realmId: realm }, { id }, { a: 'x', b: 1 }), weight: 1 },
        ),
      }),
    ),
  ),
)

const KNOWN = lines(
  { type: 'schema', tables: { todo: '@id, a, *roles', plain: 'id', pairs: '[a+b], name' } },
  { realm: 'rlm-b', table: 'realms', id: 'rlm-b', data: { owner: 'ann' } },
  { realm: 'rlm-b', table: 'members', id: 'm2', data: { userId: 'ann' } },
  { realm: 'rlm-b', table: 'todo', id: 'k2', data: {} },
  { realm: 'ann', table: 'plain', id: 'k2', data: {} },
)

test('a file that passes the check can be applied, and any other changes nothing', async () => {
  let good = 0
  await fc.assert(
    fc.asyncProperty(fc.array(LINE, { minLength: 1, maxLength: 4 }), async (file) => {
      await using base = await setupDatabase()
      await base.import(KNOWN)
      const before = await base.export()
      try {
        await base.import(lines(...file))
        good += 1
        await base.jobs.idle()
      } catch (error) {
        if (!(error instanceof SatchelError)) throw error
        expect(['UNPROCESSABLE', 'UNKNOWN_REALM', 'INVALID_REQUEST']).toContain(error.code)
        expect(error.message).toMatch(/^line \d/)
        expect(await base.export()).toBe(before)
      }
      await expectNothingLeft(base)
    }),
    { numRuns: 60 },
  )

  expect(good).toBeGreaterThan(10)
})
