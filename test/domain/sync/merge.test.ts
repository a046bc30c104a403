import { describe, expect, test } from 'bun:test'
import { readChangeSpec } from '../../../src/domain/sync/change'
import {
  type Authorship,
  type RowState,
  mergeChanges,
  withoutKey,
} from '../../../src/domain/sync/merge'
import { namesSince, newStamps, stampReplacement } from '../../../src/domain/object/stamps'
import type { WireObject } from '../../../src/domain/value/value'

/** A row as it was created at revision 1, time 100. */
function row(object: WireObject): RowState & { kind: 'row' } {
  return { kind: 'row', object, stamps: newStamps([100, 1]), entered: 1 }
}

function from(origin: Partial<Authorship>): Authorship {
  return { ts: 200, base: 1, written: [], client: 7, revision: 2, ...origin }
}

function objectOf(state: RowState): WireObject | undefined {
  return state.kind === 'row' ? state.object : undefined
}

function update(state: RowState, spec: WireObject, origin: Partial<Authorship>) {
  return mergeChanges(state, readChangeSpec(spec), from(origin))
}

describe('merging: a write to a path', () => {
  test('a slow clock loses no part of an update to another part of it', () => {
    for (const spec of [
      { deep: { x: 1, y: 1 }, 'deep.x': 2 },
      { 'deep.x': 0, deep: { x: 2, y: 1 } },
    ]) {
      const state = row({ deep: { x: 0, y: 0 }, other: 0 })
      update(state, { deep: { x: 'fast clock' } }, { ts: 9_000, revision: 2 })
      update(state, { other: 'not seen' }, { ts: 9_000, base: 2, revision: 3 })
      const seen = update(state, spec, { ts: 300, base: 2, revision: 4 })
      expect(state.object).toEqual({ deep: { x: 2, y: 1 }, other: 'not seen' })
      expect(seen.isAsSent).toBe(true)
    }
  })

  test('without a base only times count', () => {
    const state = row({ a: 0 })
    update(state, { a: 'later' }, { ts: 300, revision: 2 })
    update(state, { a: 'earlier' }, { ts: 200, base: undefined, revision: 3 })
    expect(state.object).toEqual({ a: 'later' })
  })

  test('a newer write of the whole object stands against an older one inside it', () => {
    const state = row({ a: { x: 0 } })
    update(state, { a: { x: 'whole' } }, { ts: 300, revision: 2 })
    update(state, { 'a.x': 'inside' }, { ts: 200, base: 1, revision: 3 })
    expect(state.object).toEqual({ a: { x: 'whole' } })
  })

  test('a removal has a stamp too: an older write does not bring the property back', () => {
    const state = row({ a: 1 })
    update(state, { a: { $t: 'undefined' } }, { ts: 300, revision: 2 })
    update(state, { a: 2 }, { ts: 200, base: 1, revision: 3 })
    expect(state.object).toEqual({})
  })

  test('a property with very many paths inside is merged as one value', () => {
    const state = row({ a: {} })
    for (let n = 0; n < 150; n += 1) update(state, { [`a.k${n}`]: n }, { revision: 2 + n })
    expect(state.stamps.properties.get('a')?.below.size).toBeLessThanOrEqual(101)
    update(state, { 'a.k0': 'older' }, { ts: 150, base: 1, revision: 999 })
    expect(objectOf(state)?.['a']).toMatchObject({ k0: 0, k149: 149 })
  })
})

describe('merging: what others learn', () => {
  test('names of properties written since a revision', () => {
    const state = row({ a: 1, b: { c: 1 } })
    update(state, { 'b.c': 2 }, { revision: 2 })
    update(state, { a: 2 }, { revision: 3 })
    expect(namesSince(state.stamps, 0)).toBeUndefined()
    expect(namesSince(state.stamps, 1)).toEqual(new Set(['a', 'b']))
    expect(namesSince(state.stamps, 2)).toEqual(new Set(['a']))
  })

  test('a replacement without history wins over any time', () => {
    const state = row({ a: 1, b: 1 })
    update(state, { a: 'future' }, { ts: 9_000, revision: 2 })
    stampReplacement(state.stamps, state.object, { a: 'rest', b: 1 }, [300, 3])
    expect(namesSince(state.stamps, 2)).toEqual(new Set(['a']))
    state.object['a'] = 'rest'
    update(state, { a: 'older base' }, { ts: 400, base: 1, revision: 4 })
    expect(state.object).toEqual({ a: 'rest', b: 1 })
  })

  test('the primary key is stripped from changes', () => {
    expect(withoutKey(['id'], readChangeSpec({ id: 'x', a: 1 }))).toHaveLength(1)
  })
})
