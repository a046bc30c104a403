import { describe, expect, test } from 'bun:test'
import { ANONYMOUS } from '../../../src/domain/access/actor'
import { codeOf } from '../../auth/setup'
import {
  administrator,
  alice,
  bob,
  carol,
  person,
  readersOf,
  refTo,
  setupBlobWorld,
  uploadText,
} from '../blob/setup'
import { blobsIn, mentionsBlobs } from '../../../src/domain/value/blob'
describe('references in an object', () => {
  const none = (value: object) => blobsIn({ value, text: '"_bt":' })

  test('are found at any depth, each blob once', () => {
    const object = {
      a: refTo('one'),
      b: [[{ c: refTo('two') }], { $t: 'Map', v: [['key', refTo('three')]] }],
      d: { ...refTo('one'), more: refTo('four') },
    }
    expect(blobsIn(object)).toEqual(['one', 'two', 'three', 'four'])
    expect(mentionsBlobs(JSON.stringify(object))).toBe(true)
  })

  test('may be the object itself, or have what a client reads as no inline value', () => {
    expect(blobsIn({ id: 'x', ...refTo('one') })).toEqual(['one'])
    expect(blobsIn({ a: { ...refTo('one'), v: { $t: 'undefined' } } })).toEqual(['one'])
  })

  test('are not what only looks like one', () => {
    expect(none({ _bt: 'Blob', ref: '1:one', v: 'AAAA' })).toEqual([])
    expect(none({ _bt: 1, ref: '1:one' })).toEqual([])
    expect(none({ _bt: 'Blob', ref: 1 })).toEqual([])
    expect(none({ ref: '1:one' })).toEqual([])
    expect(none({ _bt: 'Blob', ref: '2:one' })).toEqual([])
    expect(none(['_bt', 'ref', '1:one'])).toEqual([])
  })

  test('are not looked for where a text only quotes one', () => {
    expect(mentionsBlobs(JSON.stringify({ text: '{"_bt":"Blob","ref":"1:one"}' }))).toBe(false)
    expect(mentionsBlobs(JSON.stringify({ _btx: 1, x_bt: 2, _hasBlobRefs: 1 }))).toBe(false)
  })
})

describe('a reference', () => {
  test('in a realm that the reader left counts for them no more', async () => {
    await using world = await setupBlobWorld()
    await uploadText(world, alice, 'one')
    await world.put(alice, 'files', { realmId: 'rlm-team', image: refTo('one') })
    await world.remove(bob, 'members', 'mmb-bob')
    expect(await readersOf(world, 'one')).toEqual(['alice'])
  })

  test('in the row of a realm or a member counts as well', async () => {
    await using world = await setupBlobWorld()
    await uploadText(world, alice, 'one')
    await world.put(alice, 'realms', { realmId: 'rlm-team', logo: refTo('one') })
    expect(await readersOf(world, 'one')).toEqual(['alice', 'bob'])
    const refused = () => world.put(bob, 'realms', { realmId: 'rlm-own', logo: refTo('none') })
    expect(await codeOf(refused)).toBe('BLOB_NOT_READABLE')
  })
})

describe('a reference to a blob that its writer may not read', () => {
  test('is refused in the public realm without permission to read the blob', async () => {
    await using world = await setupBlobWorld()
    await uploadText(world, alice, 'secret')
    await uploadText(world, bob, 'own')
    const editor = { id: 'mmb-public', realmId: 'rlm-public', userId: 'bob' }
    const permissions = { add: ['files'] }
    await world.put(administrator, 'members', { ...editor, permissions }, 'public')
    const add = (id: string) => {
      const row = { realmId: 'rlm-public', file: refTo(id) }
      return world.put(bob, 'files', row, 'public')
    }
    expect(await codeOf(() => add('secret'))).toBe('BLOB_NOT_READABLE')
    await add('own')
    expect(await readersOf(world, 'secret')).toEqual(['alice'])
    expect(await readersOf(world, 'own', [ANONYMOUS])).toEqual([null])
  })

  test('is refused to a user who can read the blob only with GLOBAL_READ', async () => {
    await using world = await setupBlobWorld()
    await uploadText(world, alice, 'secret')
    const reader = person('bob', 'GLOBAL_READ')
    expect(await readersOf(world, 'secret', [reader])).toEqual(['bob'])
    expect(await codeOf(() => world.put(reader, 'files', { file: refTo('secret') }))).toBe(
      'BLOB_NOT_READABLE',
    )
  })

  test('is allowed with GLOBAL_WRITE', async () => {
    await using world = await setupBlobWorld()
    await uploadText(world, alice, 'secret')
    await world.put(administrator, 'files', { realmId: 'carol', file: refTo('secret') }, 'all')
    await world.put(administrator, 'files', { realmId: 'carol', file: refTo('later') }, 'all')
    expect(await readersOf(world, 'secret')).toEqual(['alice', 'carol'])
  })

  test('counts from when they may: the share is theirs to pass on', async () => {
    await using world = await setupBlobWorld()
    await uploadText(world, alice, 'one')
    const copy = () => world.put(bob, 'files', { file: refTo('one') })
    expect(await codeOf(copy)).toBe('BLOB_NOT_READABLE')
    const { id } = await world.put(alice, 'files', { realmId: 'rlm-team', file: refTo('one') })
    await copy()
    await world.remove(alice, 'files', String(id))
    expect(await readersOf(world, 'one')).toEqual(['alice', 'bob'])
  })

  test('stays when another user edits or moves the object', async () => {
    await using world = await setupBlobWorld()
    await uploadText(world, alice, 'one')
    const team = { realmId: 'rlm-team', a: refTo('one') }
    const { id } = await world.put(alice, 'files', team)
    // The only reference: bob reads it through this object alone.
    await world.put(bob, 'files', { ...team, id, b: refTo('one'), title: 'edited' })
    await world.put(administrator, 'files', { id, realmId: 'bob', a: refTo('gone') }, 'all')
    const edited = { id, a: refTo('gone'), title: 'again' }
    expect(await world.put(bob, 'files', edited)).toMatchObject(edited)
    expect(await codeOf(() => world.put(bob, 'files', { ...edited, b: refTo('other') }))).toBe(
      'BLOB_NOT_READABLE',
    )
  })
})

describe('an id that objects reference and that has no bytes', () => {
  test('cannot be uploaded by everyone', async () => {
    await using world = await setupBlobWorld()
    const row = { realmId: 'rlm-team', file: refTo('lost') }
    await world.put(administrator, 'files', row, 'all')
    for (const actor of [alice, bob, carol]) {
      expect(await codeOf(() => uploadText(world, actor, 'lost'))).toBe('CONFLICT')
    }
    await uploadText(world, administrator, 'lost')
    expect(await readersOf(world, 'lost')).toEqual(['alice', 'bob'])
  })

  test('is reserved for the readers of its references', async () => {
    await using world = await setupBlobWorld()
    await world.put(administrator, 'files', { realmId: 'bob', file: refTo('lost') }, 'all')
    expect(await codeOf(() => uploadText(world, alice, 'lost'))).toBe('CONFLICT')
    await uploadText(world, bob, 'lost')
    expect(await readersOf(world, 'lost', [alice, bob, ANONYMOUS])).toEqual(['bob'])
  })
})
