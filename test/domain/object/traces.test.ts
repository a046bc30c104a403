import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { entriesOf, replacementOf } from '../../../src/domain/object/traces'
import type { IndexEntry } from '../../../src/domain/store/objects'
import type { Table } from '../../../src/domain/store/tables'
import { parseTable } from '../../../src/domain/value/schema'
import type { WireObject } from '../../../src/domain/value/value'

const table = {
  indexes: parseTable('t', '@id, title, *tags, [title+rank]').indexes.map((index, number) => ({
    ...index,
    number,
    state: 'ready' as const,
  })),
} as unknown as Table

test('a replacement leads to the entries of the new object', () => {
  const long = 'x'.repeat(1_100)
  const scalar = fc.oneof(
    fc.constantFrom<unknown>('a', 'b', `${long}1`, `${long}2`, 1, true, null, {}),
    fc.constantFrom({ $t: 'Date', v: '2026-11-21T12:00:00.000Z' }, ['a'], [{}]),
  )
  const tags = fc.oneof(scalar, fc.array(scalar, { maxLength: 6 }))
  const object = fc.record({ title: scalar, rank: scalar, tags }, { requiredKeys: [] })
  fc.assert(
    fc.property(object, object, (before, after) => {
      const { entries, previousTraces } = replace(before, after)
      const stored = new Set(namesOf(entriesOf(table, before)))
      for (const name of namesOf(previousTraces.entries)) stored.delete(name)
      for (const name of namesOf(entries)) stored.add(name)
      expect([...stored].toSorted()).toEqual(
        [...new Set(namesOf(entriesOf(table, after)))].toSorted(),
      )
    }),
    { numRuns: 2_000 },
  )
})

test('a replacement changes no entry that both objects have', () => {
  const tags = Array.from({ length: 900 }, (_, n) => `tag${n}`)
  const date = { $t: 'Date', v: '2026-11-21T12:00:00.000Z' }
  const before = { title: date, rank: 1, tags, done: false }
  const same = replace(before, { ...before, done: true })
  expect([...same.entries, ...same.previousTraces.entries]).toEqual([])
  const one = replace(before, { ...before, tags: [...tags.slice(1), 'another'] })
  expect(one.removed).toBe(1 + 2)
  expect(namesOf(one.entries)).toHaveLength(1)
  expect(namesOf(one.previousTraces.entries)).toHaveLength(1)
})

test('entries of a long array are encoded while they are taken', () => {
  const tags = Array.from({ length: 900_000 }, (_, n) => n)
  let taken = 0
  const entries = entriesOf(table, { tags })
  expect(entries).not.toBeArray()
  for (const { key } of entries) {
    taken += key.length > 0 ? 1 : 0
    if (taken === 10) break
  }
  expect(taken).toBe(10)
})

function replace(before: WireObject, after: WireObject) {
  const readable = (object: WireObject) => ({ text: JSON.stringify(object), object })
  return replacementOf(table, readable(before), readable(after))
}

function namesOf(entries: Iterable<IndexEntry>): string[] {
  return Array.from(entries, ({ index, key }) => `${index} ${Buffer.from(key).toString('hex')}`)
}
