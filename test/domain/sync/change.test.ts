import { Dexie, PropModification } from 'dexie'
import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import {
  type PropertyChange,
  modified,
  readChangeSpec,
  removeAt,
  setAt,
} from '../../../src/domain/sync/change'
import type { WireObject } from '../../../src/domain/value/value'

const UNDEFINED = { $t: 'undefined' }

function only(spec: WireObject): PropertyChange {
  const [change] = readChangeSpec(spec)
  if (change === undefined) throw new Error('the spec is empty')
  return change
}

describe('changeSpecs (protocol.md §4.4, §4.6)', () => {
  test('say what is set, removed and modified, at which path', () => {
    expect(readChangeSpec({ a: 1, 'b.c': UNDEFINED, d: { '@@propmod': { add: 2 } } })).toEqual([
      { path: ['a'], kind: 'set', value: 1 },
      { path: ['b', 'c'], kind: 'remove' },
      { path: ['d'], kind: 'modify', modification: { add: 2 } },
    ])
    expect(only({ d: { $t: 'PropModification', remove: ['x'] } })).toMatchObject({
      modification: { remove: ['x'] },
    })
  })

  test('a name that begins with $ is escaped once, its deeper names as they are stored', () => {
    expect(only({ '$$x.$y': 1 }).path).toEqual(['$$x', '$$y'])
  })

  test('a modification that is none is refused by its path', () => {
    for (const spec of [null, {}, { add: 'x' }, { replacePrefix: ['a'] }, { remove: {} }]) {
      expect(() => readChangeSpec({ d: { '@@propmod': spec } })).toThrow('"d"')
    }
  })

  test('set and remove what Dexie sets and removes', () => {
    const path = fc.array(fc.constantFrom('a', 'b', '0', '1', 'constructor'), {
      minLength: 1,
      maxLength: 3,
    })
    const value = fc.jsonValue({ maxDepth: 1 })
    fc.assert(
      fc.property(nested, path, value, fc.boolean(), (object, names, written, isRemoval) => {
        const theirs = structuredClone(object)
        const ours = structuredClone(object)
        try {
          Dexie.setByKeyPath(theirs, names.join('.'), isRemoval ? undefined : written)
        } catch {
          return
        }
        if (isRemoval) removeAt(ours, names)
        else setAt(ours, names, written)
        expect(stored(ours)).toEqual(stored(theirs))
      }),
      { numRuns: 1_000 },
    )
  })

  test('a hole in a list is filled with null, a large one is refused', () => {
    const object: WireObject = { list: [1] }
    setAt(object, ['list', '3'], 4)
    expect(object).toEqual({ list: [1, null, null, 4] })
    expect(() => setAt(object, ['list', '900000000'], 4)).toThrow('behind the end')
  })

  test('__proto__ is a name like any other', () => {
    const object: WireObject = {}
    setAt(object, ['__proto__', 'polluted'], true)
    expect(JSON.stringify(object)).toBe('{"__proto__":{"polluted":true}}')
    expect(({} as WireObject)['polluted']).toBeUndefined()
  })

  test('modifications give what Dexie gives', () => {
    const value = fc.oneof(
      fc.integer({ min: -1000, max: 1000 }),
      fc.constantFrom('', '5', 'x/y', null, true),
      fc.array(fc.constantFrom('a', 'b', 'c', 1, 2, 10)),
    )
    const term = fc.oneof(
      fc.record({
        add: fc.oneof(fc.integer({ min: -9, max: 9 }), fc.array(fc.constantFrom('b', 2))),
      }),
      fc.record({
        remove: fc.oneof(fc.integer({ min: -9, max: 9 }), fc.array(fc.constantFrom('b', 2))),
      }),
      fc.record({ replacePrefix: fc.constant(['x/', 'z/'] as [string, string]) }),
    )
    fc.assert(
      fc.property(value, term, (current, spec) => {
        const change = only({ p: { '@@propmod': spec } })
        if (change.kind !== 'modify') throw new Error('it is no modification')
        const theirs: unknown = new PropModification(spec).execute(current)
        const expected = Number.isNaN(theirs) ? { $t: 'number', v: 'NaN' } : theirs
        expect(modified(change.modification, current)).toEqual(expected)
      }),
      { numRuns: 1_000 },
    )
  })

  test('one more member of a sorted list costs a look at each, and no sorting', () => {
    let looks = 0
    const member = (n: number) => ({
      toJSON: () => {
        looks += 1
        return `member ${String(n).padStart(6, '0')}`
      },
    })
    const list = Array.from({ length: 10_000 }, (_, n) => member(n))
    expect(modified({ add: ['member'] }, list)).toHaveLength(10_001)
    expect(looks).toBeLessThan(10_100)
  })

  test('a list that was changed in place since is sorted anew', () => {
    const object: WireObject = { list: modified({ add: ['b', 'd'] }, ['c']) }
    expect(object['list']).toEqual(['b', 'c', 'd'])
    setAt(object, ['list', '0'], 'z')
    expect(modified({ add: ['a'] }, object['list'])).toEqual(['a', 'c', 'd', 'z'])
  })

  test('numbers that JSON cannot hold stay numbers', () => {
    expect(modified({ add: 1 }, { $t: 'number', v: 'Infinity' })).toEqual({
      $t: 'number',
      v: 'Infinity',
    })
    expect(modified({ add: 1 }, { $t: 'Date', v: '1970-01-01T00:00:00.005Z' })).toBe(6)
    expect(modified({ add: 1 }, Number.MAX_SAFE_INTEGER)).toBe(Number.MAX_SAFE_INTEGER)
  })
})

/** What of an object survives in JSON. */
function stored(object: WireObject): WireObject {
  return JSON.parse(JSON.stringify(object)) as WireObject
}

const nested: fc.Arbitrary<WireObject> = fc.letrec((tie) => ({
  node: fc.oneof(
    { maxDepth: 2 },
    fc.constantFrom<unknown>(1, 'text', null),
    fc.array(tie('node'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b'), tie('node')),
  ),
  top: fc.dictionary(fc.constantFrom('a', 'b'), tie('node')),
})).top
