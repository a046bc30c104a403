import * as fc from 'fast-check'
import { expect, test } from 'bun:test'
import { isNameText } from '../../../src/domain/value/key'
import { lines, setupDatabase } from './setup'

const WORDS = [
  '',
  'a',
  'Ünï 漢字 😀',
  '__proto__',
  'constructor',
  '"\\/\u2028',
  '\ud800',
  '1',
  '10',
]
const TABLES = ['todo', 'Zoë', '7', '12', '__proto__', 'pairs'] as const
const STORES: Readonly<Record<(typeof TABLES)[number], readonly string[]>> = {
  todo: ['@id', '@id, title, *tags', '@id, [a+b], &title'],
  Zoë: ['@id, a.b', '@code'],
  '7': ['id', 'id, title'],
  '12': ['@id'],
  ['__proto__']: ['id, *tags'],
  pairs: ['[a+b]', '[a+b+c], title'],
}
const REALMS = ['rlm-public', 'rlm-a', 'rlm~todo1', 'ann@demo.local', 'client-1']

/** Anything that can be stored (design.md §3 `value`). */
function value(): fc.Arbitrary<unknown> {
  const number = fc.oneof(fc.maxSafeInteger(), fc.double({ noNaN: true, min: -1e9, max: 1e9 }))
  const leaf = fc.oneof(
    fc.constantFrom(...WORDS),
    fc.string({ unit: 'binary' }),
    number,
    fc.boolean(),
    fc.constant(null),
    fc.constantFrom(
      { $t: 'Date', v: '2030-01-01T00:00:00.000Z' },
      { $t: 'number', v: 'NaN' },
      { $t: 'bigint', v: '12345678901234567890' },
      { $t: 'Uint8Array', v: '0GBv|l--' },
      { $t: 'Unheard', of: [{ $t: 'undefined' }] },
      { _bt: 'Uint8Array', ref: '1:abc', size: 7 },
    ),
  )
  return fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name(), tie('value'), { maxKeys: 3 }),
    ),
  })).value
}

function name(): fc.Arbitrary<string> {
  return fc
    .oneof(
      fc.constantFrom(...WORDS, '$$x', 'title', 'tags', 'a', 'b', '_hasBlobRefs'),
      fc.string().filter((text) => !text.startsWith('$')),
    )
    .filter(isNameText)
}

function key(table: string): fc.Arbitrary<string> {
  const part = fc.oneof(fc.constantFrom('x', '漢', '__proto__'), fc.integer())
  if (table === 'pairs')
    return fc.tuple(fc.constant('k'), part).map((parts) => JSON.stringify(parts))
  return fc.oneof(fc.constantFrom('1', '2', '__proto__', 'constructor', 'é😀'), fc.uuid())
}

/** A line about an object of one of our tables. */
function objectLine(): fc.Arbitrary<object> {
  return fc.constantFrom(...TABLES).chain((table) =>
    fc.record({
      realm: fc.constantFrom(...REALMS),
      table: fc.constant(table),
      id: key(table),
      // Key and realm come from the line.
      data: fc
        .dictionary(name(), value(), { maxKeys: 4 })
        .map((data) => without(data, ['id', 'code', 'realmId', 'owner', 'a', 'b', 'c'])),
    }),
  )
}

const SINGLE = [
  { realm: 'ann@demo.local', table: 'todo', id: '#theme:ann@demo.local', data: { $$t: 'dark' } },
  { realm: 'rlm-a', table: 'realms', id: 'rlm-a', data: { name: 'A', owner: 'ann@demo.local' } },
  { realm: 'rlm~todo1', table: 'realms', id: 'rlm~todo1', data: { ['__proto__']: 1, name: '😀' } },
  { realm: 'rlm-a', table: 'members', id: 'mmb1', data: { userId: 'bob', roles: ['boss'] } },
  {
    realm: 'rlm-a',
    table: 'members',
    id: 'mmb2',
    data: { email: 'Eve@example.com', invite: true },
  },
  {
    realm: 'rlm-a',
    table: 'roles',
    id: '["rlm-a","boss"]',
    data: { permissions: { add: '*', update: { todo: ['title'] } } },
  },
  { realm: 'rlm-public', table: 'roles', id: '["rlm-public","1"]', data: { sortOrder: 1 } },
]

/** A whole file: valid in any order. */
function file(): fc.Arbitrary<string> {
  return fc
    .record({
      schema: fc
        .shuffledSubarray([...TABLES], { minLength: TABLES.length })
        .chain((names) =>
          fc.tuple(
            ...names.map((table) =>
              fc.constantFrom(...STORES[table]).map((stores) => [table, stores]),
            ),
          ),
        ),
      prefix: fc.constantFrom('td', 'x', 'Ω1'),
      sealed: fc.boolean(),
      users: fc.dictionary(
        fc.constantFrom('ann@demo.local', '1@demo.local'),
        fc.dictionary(name(), fc.constantFrom(...WORDS), { maxKeys: 2 }),
      ),
      objects: fc.array(objectLine(), { maxLength: 12 }),
      order: fc.shuffledSubarray(SINGLE, { minLength: SINGLE.length }),
    })
    .map(({ schema, prefix, sealed, users, objects, order }) => {
      const tables = Object.fromEntries(schema) as Record<string, string>
      const fixed = objects.map((line) => withThirdPart(line, tables['pairs'] ?? ''))
      return lines(
        { type: 'schema', tables, idPrefixes: { todo: prefix }, sealed },
        { type: 'demoUsers', users },
        ...fixed,
        ...order,
      )
    })
}

/** Keys of `pairs` have as many parts as the table wants. */
function withThirdPart(line: object, stores: string): object {
  const { table, id } = line as { table: string; id: string }
  if (table !== 'pairs' || !stores.startsWith('[a+b+c]')) return line
  return { ...line, id: JSON.stringify([...(JSON.parse(id) as unknown[]), 'c']) }
}

function without(data: Record<string, unknown>, names: readonly string[]): object {
  return Object.fromEntries(Object.entries(data).filter(([name]) => !names.includes(name)))
}

test('an export that is imported into an empty database and exported again is the same, byte by byte', async () => {
  await fc.assert(
    fc.asyncProperty(file(), async (text) => {
      await using first = await setupDatabase()
      await first.import(text)
      const exported = await first.export()
      await using second = await setupDatabase()
      await second.import(exported)
      expect(await second.export()).toBe(exported)
      await using third = await setupDatabase()
      await third.import(await first.export('json'))
      expect(sorted(await third.export())).toEqual(sorted(exported))
    }),
    { numRuns: 25 },
  )
})

/** The lines in an order that does not depend on when they came. */
function sorted(text: string): string[] {
  return text.split('\n').toSorted()
}
