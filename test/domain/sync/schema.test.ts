import { describe, expect, test } from 'bun:test'
import { SatchelError } from '../../../src/domain/value/error'
import { learnSchema } from '../../../src/domain/sync/schema'
import { NOW, openWorld, user, type World } from './setup'
import { readRequest } from './read-request'

const ALICE = user('alice@example.com')
const MARKED = { markedForSync: true }

interface Given {
  readonly schema: Readonly<Record<string, object>>
  readonly keys?: readonly string[]
  readonly values?: readonly object[]
}

function learn({ database }: World, { schema, keys = [], values = [] }: Given): Promise<void> {
  const muts = [{ type: 'insert', keys, values, txid: 't' }]
  const changes = keys.length === 0 ? [] : [{ table: Object.keys(schema)[0], muts }]
  const request = readRequest({ clientIdentity: 'x', schema, changes })
  return learnSchema(database, ALICE, request, NOW)
}

async function tableIn({ database }: World, name: string) {
  return await database.read((tx) => tx.tables.find(name))
}

describe('a table that a client declares (protocol.md §10.1)', () => {
  test('is learned with the prefix of its ids, its key as soon as a client names it', async () => {
    await using world = await openWorld()
    const declared = { ...MARKED, generatedGlobalId: true, idPrefix: 'dry' }
    await learn(world, { schema: { diary: declared } })
    expect(await tableIn(world, 'diary')).toMatchObject({
      primaryKey: null,
      generated: true,
      idPrefix: 'dry',
      stores: '',
    })
    const later = { ...MARKED, primaryKey: 'day', generatedGlobalId: { $t: 'undefined' } }
    await learn(world, { schema: { diary: later } })
    expect(await tableIn(world, 'diary')).toMatchObject({
      primaryKey: ['day'],
      generated: true,
      idPrefix: 'dry',
      stores: '@day',
    })
  })

  test.each<[string, readonly string[], readonly object[], readonly string[] | null]>([
    ['one property', ['a'], [{ x: 1, id: 'a' }], ['id']],
    ['several properties', ['["a",1]'], [{ b: 1, a: 'a', c: 2 }], ['a', 'b']],
    ['a property beside its realm', ['r'], [{ id: 'r', realmId: 'r', owner: 'r' }], ['id']],
    [
      'the property that all rows agree on',
      ['a', 'b'],
      [
        { x: 'a', id: 'a' },
        { x: 'a', id: 'b' },
      ],
      ['id'],
    ],
    ['nothing where two agree', ['a'], [{ x: 'a', id: 'a' }], null],
    ['nothing where none agrees', ['a'], [{ deep: { id: 'a' } }], null],
    ['nothing by a key that only looks compound', ['[a]'], [{ id: '[a]' }], null],
    ['nothing by escaped names', ['a'], [{ $$id: 'a' }], null],
  ])('shows its key by %s', async (_, keys, values, primaryKey) => {
    await using world = await openWorld()
    await learn(world, { schema: { diary: MARKED }, keys, values })
    expect((await tableIn(world, 'diary'))?.primaryKey).toEqual(primaryKey as string[] | null)
  })

  test('shows its key by later objects when it was learned without one', async () => {
    await using world = await openWorld()
    const schema = { diary: MARKED, notes: MARKED }
    await learn(world, { schema })
    await learn(world, { schema })
    expect((await tableIn(world, 'diary'))?.primaryKey).toBeNull()
    await learn(world, { schema, keys: ['a'], values: [{ id: 'a', title: 'b' }] })
    expect((await tableIn(world, 'diary'))?.primaryKey).toEqual(['id'])
  })

  test('keeps the prefix of another table away from it', async () => {
    await using world = await openWorld()
    await learn(world, {
      schema: { itemLists: { ...MARKED, generatedGlobalId: true, idPrefix: 'itm' } },
    })
    const prefix = (await tableIn(world, 'itemLists'))?.idPrefix
    expect(prefix).toHaveLength(3)
    expect(prefix).not.toBe('itm')
  })

  test('is not learned where it stays on the device, and changes nothing that is known', async () => {
    await using world = await openWorld()
    const before = await tableIn(world, 'items')
    await learn(world, {
      schema: { items: { ...MARKED, primaryKey: 'other' }, local: { markedForSync: false } },
    })
    expect(await tableIn(world, 'items')).toEqual(before)
    expect(await tableIn(world, 'local')).toBeUndefined()
  })

  test('is refused with an impossible name, or when there are too many', async () => {
    await using world = await openWorld()
    const names = Array.from({ length: 500 }, (_, at) => [`t${at}`, MARKED] as const)
    for (const schema of [{ 'a\u0000': MARKED }, Object.fromEntries(names)]) {
      const failure: unknown = await learn(world, { schema }).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(SatchelError)
    }
    expect(await tableIn(world, 't0')).toBeUndefined()
  })

  test('is not learned by a sealed schema, which refuses operations on it', async () => {
    await using world = await openWorld()
    await world.database.write((tx) => tx.tables.seal(true))
    await learn(world, { schema: { diary: MARKED } })
    expect(await tableIn(world, 'diary')).toBeUndefined()
    const changed = { schema: { diary: MARKED }, keys: ['a'], values: [{ id: 'a' }] }
    const failure: unknown = await learn(world, changed).catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'UNPROCESSABLE' })
    expect(String(failure)).toContain('sealed')
  })
})
