import { describe, expect, test } from 'bun:test'
import { readChangeSpec } from '../../../src/domain/sync/change'
import {
  type Authorship,
  type RowState,
  mergeChanges,
  mergeWhole,
  withoutKey,
} from '../../../src/domain/sync/merge'
import { namesSince, newStamps, stampReplacement } from '../../../src/domain/object/stamps'
import type { WireObject } from '../../../src/domain/value/value'

/** A row as it was created at revision 1, time 100. */
function row(object: WireObject): RowState & { kind: 'row' } {
  return { kind: 'row', object, stamps: newStamps([100, 1]), entered: 1 }
}

function from(origin: Partial<Authorship>): Authorship {
  return { ts: 200, base: 1, own: [], client: 7, revision: 2, ...origin }
}

function objectOf(state: RowState): WireObject | undefined {
  return state.kind === 'row' ? state.object : undefined
}

function update(state: RowState, spec: WireObject, origin: Partial<Authorship>) {
  return mergeChanges(state, readChangeSpec(spec), from(origin))
}

describe('merging: a write to a path', () => {
  test('different properties of concurrent updates both stand', () => {
    const state = row({ a: 0, b: 0 })
    update(state, { a: 1 }, { revision: 2 })
    update(state, { b: 2 }, { base: 1, revision: 3, client: 8 })
    expect(state.object).toEqual({ a: 1, b: 2 })
  })

  test('of concurrent updates of one property the later one stands, in either order', () => {
    const late = row({ a: 0 })
    update(late, { a: 'late' }, { ts: 300, revision: 2 })
    const lost = update(late, { a: 'early' }, { ts: 200, base: 1, revision: 3 })
    expect(late.object).toEqual({ a: 'late' })
    expect(lost.isAsSent).toBe(false)

    const early = row({ a: 0 })
    update(early, { a: 'early' }, { ts: 200, revision: 2 })
    update(early, { a: 'late' }, { ts: 300, base: 1, revision: 3 })
    expect(early.object).toEqual({ a: 'late' })
  })

  test('a slow clock does not lose to what it has seen', () => {
    const state = row({ a: 0 })
    update(state, { a: 'fast clock' }, { ts: 9_000, revision: 2 })
    const seen = update(state, { a: 'slow clock' }, { ts: 300, base: 2, revision: 3 })
    expect(state.object).toEqual({ a: 'slow clock' })
    expect(seen).toMatchObject({ isAsSent: true, latest: 9_000 })
  })

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

  test('a newer value inside an object survives an older write of the whole object', () => {
    const state = row({ a: { x: 0, y: 0 } })
    update(state, { 'a.x': 'newer' }, { ts: 300, revision: 2 })
    const whole = update(state, { a: { x: 1, y: 1 } }, { ts: 200, base: 1, revision: 3 })
    expect(state.object).toEqual({ a: { x: 'newer', y: 1 } })
    expect(whole.isAsSent).toBe(false)
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

  test('a property modification is executed on the current value, however late it comes', () => {
    const state = row({ n: 1 })
    update(state, { n: 10 }, { ts: 9_000, revision: 2 })
    const added = update(
      state,
      { n: { '@@propmod': { add: 1 } } },
      { ts: 200, base: 1, revision: 3 },
    )
    expect(state.object).toEqual({ n: 11 })
    expect(added.isAsSent).toBe(false)
  })

  test('a property with very many paths inside is merged as one value', () => {
    const state = row({ a: {} })
    for (let n = 0; n < 150; n += 1) update(state, { [`a.k${n}`]: n }, { revision: 2 + n })
    expect(state.stamps.properties.get('a')?.below.size).toBeLessThanOrEqual(101)
    update(state, { 'a.k0': 'older' }, { ts: 150, base: 1, revision: 999 })
    expect(objectOf(state)?.['a']).toMatchObject({ k0: 0, k149: 149 })
  })
})

describe('merging: whole objects', () => {
  test('an upsert of an absent key creates the object', () => {
    const { state, isAsSent } = mergeWhole({ kind: 'absent' }, 'upsert', { a: 1 }, from({}))
    expect(objectOf(state)).toEqual({ a: 1 })
    expect(isAsSent).toBe(true)
  })

  test('an upsert writes every property of either object: what it lacks is removed', () => {
    const state = row({ a: 1, b: 1 })
    mergeWhole(state, 'upsert', { a: 2 }, from({}))
    expect(state.object).toEqual({ a: 2 })
  })

  test('a property that another client added later survives an upsert that did not know it', () => {
    const state = row({ a: 1 })
    update(state, { b: 'new' }, { ts: 300, revision: 2 })
    const { isAsSent } = mergeWhole(
      state,
      'upsert',
      { a: 2 },
      from({ ts: 200, base: 1, revision: 3 }),
    )
    expect(state.object).toEqual({ a: 2, b: 'new' })
    expect(isAsSent).toBe(false)
  })

  test('an object that was moved or given away since the base is not brought back', () => {
    const state = row({ a: 1, realmId: 'rlm1', owner: 'alice' })
    update(state, { realmId: 'rlm2', owner: 'bob' }, { ts: 150, revision: 2 })
    mergeWhole(
      state,
      'upsert',
      { a: 2, realmId: 'rlm1', owner: 'alice' },
      from({ ts: 300, base: 1, revision: 3 }),
    )
    expect(state.object).toEqual({ a: 2, realmId: 'rlm2', owner: 'bob' })
  })
})

describe('merging: updates and deletions', () => {
  const dead = { kind: 'dead', revision: 5, client: 7, entered: 1 } as const

  test('an update of an absent or deleted key does nothing', () => {
    for (const state of [{ kind: 'absent' }, dead] as const) {
      expect(update(state, { a: 1 }, {})).toMatchObject({ state, isAsSent: false })
    }
  })

  test('an upsert of another client that had not seen the deletion stays deleted', () => {
    expect(mergeWhole(dead, 'upsert', { a: 1 }, from({ client: 8, base: 4 })).state).toBe(dead)
  })

  test('an upsert after the deletion was seen, or of the client that deleted, creates', () => {
    for (const origin of [
      { client: 8, base: 5 },
      { client: 7, base: 4 },
    ]) {
      expect(mergeWhole(dead, 'upsert', { a: 1 }, from(origin)).state.kind).toBe('row')
    }
  })

  test('an upsert creates when the dead row was itself younger than its base', () => {
    const young = { ...dead, entered: 4 }
    expect(mergeWhole(young, 'upsert', { a: 1 }, from({ client: 8, base: 3 })).state.kind).toBe(
      'row',
    )
  })

  test('an insert creates, whatever was deleted', () => {
    expect(mergeWhole(dead, 'insert', { a: 1 }, from({ client: 8, base: 4 })).state.kind).toBe(
      'row',
    )
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
