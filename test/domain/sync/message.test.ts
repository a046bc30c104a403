import { describe, expect, test } from 'bun:test'
import type { TimedObject } from '../../../src/domain/store/objects'
import { addNamedRow, changeMessage, OutgoingOperations } from '../../../src/domain/sync/message'
import type { NamedKey } from '../../../src/domain/sync/named-keys'
import type { WireObject } from '../../../src/domain/value/value'

/** A row that entered in revision 2 and of which `names` were written in revision 8. */
function row(value: WireObject, names: readonly string[], more: Partial<TimedObject> = {}) {
  const p = names.map((name) => [name, [800, 8]])
  return {
    seq: 1,
    key: 'a',
    realm: 1,
    owner: null,
    revision: 8,
    entered: 2,
    updated: 800,
    stamps: JSON.stringify({ r: [200, 2], p }),
    value: JSON.stringify(value),
    ...more,
  } satisfies TimedObject
}

function told(object: TimedObject | null, base: number): unknown {
  const change = { table: 'items', key: 'a', realm: 1, revision: 8, object }
  return JSON.parse(`[${changeMessage([change], base)}]`)
}

const items = (...muts: readonly object[]) => [{ table: 'items', muts }]

describe('a change for a client', () => {
  test('that has the row is an update of the properties written since', () => {
    expect(told(row({ id: 'a', x: 1, y: [2] }, ['y', 'gone']), 5)).toEqual(
      items({
        type: 'update',
        keys: ['a'],
        changeSpecs: [{ y: [2], gone: { $t: 'undefined' } }],
      }),
    )
  })

  test('that cannot have the row is an upsert', () => {
    const value = { id: 'a', x: 1 }
    expect(told(row(value, ['x']), 1)).toEqual(
      items({ type: 'upsert', keys: ['a'], values: [value] }),
    )
  })

  test('is an upsert where a name would be read as a path', () => {
    const value = { id: 'a', 'x.y': 1 }
    expect(told(row(value, ['x.y']), 5)).toEqual(
      items({ type: 'upsert', keys: ['a'], values: [value] }),
    )
  })

  test('is an upsert where everything was written anew', () => {
    const value = { id: 'a' }
    expect(told(row(value, [], { stamps: null }), 5)).toEqual(
      items({ type: 'upsert', keys: ['a'], values: [value] }),
    )
  })

  test('flags a blob reference that arrives with an update (conformance 140)', () => {
    const picture = { _bt: 'Blob', ref: '1:x', size: 1 }
    expect(told(row({ id: 'a', picture, _hasBlobRefs: 1 }, ['picture']), 5)).toEqual(
      items({ type: 'update', keys: ['a'], changeSpecs: [{ picture, _hasBlobRefs: 1 }] }),
    )
  })

  test('that is gone is a deletion', () => {
    expect(told(null, 5)).toEqual(items({ type: 'delete', keys: ['a'] }))
  })

  test('says nothing where nothing was written', () => {
    expect(changeMessage([], 5)).toBe('')
    expect(told(row({ id: 'a' }, []), 5)).toEqual([])
  })
})

test('operations on one table are together as long as their order allows', () => {
  const operations = new OutgoingOperations()
  operations.upsert('items', 'a', '{"id":"a"}')
  operations.upsert('items', 'b', '{"id":"b"}')
  operations.delete('items', 'c')
  operations.delete('no"tes', 'd')
  expect(operations.size).toBeGreaterThan(20)
  expect(JSON.parse(`[${operations.text()}]`)).toEqual([
    {
      table: 'items',
      muts: [
        { type: 'upsert', keys: ['a', 'b'], values: [{ id: 'a' }, { id: 'b' }] },
        { type: 'delete', keys: ['c'] },
      ],
    },
    { table: 'no"tes', muts: [{ type: 'delete', keys: ['d'] }] },
  ])
})

describe('the row of a key that a request named', () => {
  const NAMED: NamedKey = {
    base: 5,
    isAsSent: false,
    isRejected: false,
    revision: 8,
    properties: new Set(['z']),
  }

  function corrected(object: TimedObject, named: Partial<NamedKey>): unknown {
    const operations = new OutgoingOperations()
    addNamedRow(operations, 'items', object, { ...NAMED, ...named })
    return JSON.parse(`[${operations.text()}]`)
  }

  const value = { id: 'a', x: 1, y: 2 }

  test('is updated in the properties written since its base or by the request', () => {
    expect(corrected(row(value, ['y']), {})).toEqual(
      items({ type: 'update', keys: ['a'], changeSpecs: [{ y: 2, z: { $t: 'undefined' } }] }),
    )
  })

  test('is updated whole where the client itself made it', () => {
    expect(corrected(row(value, [], { stamps: null, entered: 8 }), {})).toEqual(
      items({
        type: 'update',
        keys: ['a'],
        changeSpecs: [{ ...value, z: { $t: 'undefined' } }],
      }),
    )
  })

  test('says what was removed since its base where the client moved it', () => {
    expect(corrected(row(value, ['gone'], { entered: 8 }), {})).toEqual(
      items({
        type: 'update',
        keys: ['a'],
        changeSpecs: [{ ...value, gone: { $t: 'undefined' }, z: { $t: 'undefined' } }],
      }),
    )
  })

  test('is sent whole where another replaced it before the client moved it', () => {
    const stamps = JSON.stringify({ r: [700, 7], p: [['realmId', [800, 8]]] })
    expect(corrected(row(value, [], { stamps, entered: 8 }), {})).toEqual(
      items({ type: 'upsert', keys: ['a'], values: [value] }),
    )
  })

  test.each([
    ['after a rejection', { isRejected: true }],
    ['that the client deleted', { properties: undefined }],
    ['whose base is unknown', { base: undefined }],
    ['that came after its base', { base: 1 }],
  ])('is sent whole %s', (_, named) => {
    expect(corrected(row(value, ['y']), named)).toEqual(
      items({ type: 'upsert', keys: ['a'], values: [value] }),
    )
  })
})
