import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { changedProperties, type WireObject } from '../../../src/domain/value/value'

test.each([
  ['texts', { a: 'x', b: 'y' }, { a: 'x', b: 'z' }, ['b']],
  ['a property that is removed and one that is added', { a: 1 }, { b: 1 }, ['a', 'b']],
  ['null and an absent property', { a: null }, {}, ['a']],
  ['null and an object', { a: null, b: {} }, { a: {}, b: null }, ['a', 'b']],
  ['an array and an object', { a: [], b: {} }, { a: {}, b: [] }, ['a', 'b']],
  ['arrays of other lengths', { a: [1], b: [1, 2] }, { a: [1, 2], b: [1] }, ['a', 'b']],
  ['arrays in another order', { a: [1, 2] }, { a: [2, 1] }, ['a']],
  ['names inside of an object', { a: { x: 1 } }, { a: { y: 1 } }, ['a']],
  ['one name less inside of an object', { a: { x: 1, y: 2 } }, { a: { x: 1 } }, ['a']],
  ['a number and its text', { a: [1] }, { a: ['1'] }, ['a']],
  ['names in another order', { a: { x: 1, y: [{}] }, b: 1 }, { b: 1, a: { y: [{}], x: 1 } }, []],
  ['zeros', { a: 0, b: [-0] }, { a: -0, b: [0] }, []],
])('tells the properties in which two objects differ: %s', (_, before, after, names) => {
  expect(changedProperties(before, after).toSorted()).toEqual(names)
})

test('compares as the JSON with its names in order does', () => {
  const ordered = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map(ordered)
    const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
    return { members: entries.map(([name, member]) => [name, ordered(member)]) }
  }
  const member = fc.jsonValue({ maxDepth: 2, stringUnit: fc.constantFrom('a', '_') })
  const object = fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), member)
  const property = fc.property(object, object, (before, after) => {
    const differing = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
      (name) =>
        Object.hasOwn(before, name) !== Object.hasOwn(after, name) ||
        JSON.stringify(ordered(before[name])) !== JSON.stringify(ordered(after[name])),
    )
    expect(changedProperties(before as WireObject, after as WireObject)).toEqual(differing)
  })
  fc.assert(property, { numRuns: 500 })
})
