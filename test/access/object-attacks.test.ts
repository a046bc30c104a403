import { describe, expect, test } from 'bun:test'
import { removeObject } from '../../src/domain/object/remove'
import { upsertObjects } from '../../src/domain/object/upsert'
import type { Value } from './oracle-world'
import { actorFor, as, get } from './setup'
import { expectDone, expectRefused, MALLORY, openTeam, told } from './team'
import { ROW_RULES } from '../../src/domain/rows/row-rules'

describe('an object that the caller cannot see', () => {
  test('answers a write with the same refusal for every hidden object', async () => {
    await using team = await openTeam()
    await team.admin.put('realms', { realmId: 'rlmOther', owner: 'carol' })
    await team.carol.put('todoItems', { id: 'tdiOther', realmId: 'rlmOther', owner: null })
    const refusals = new Set<string>()
    for (const id of ['tdiTeam', 'tdiAlice', 'tdiOther']) {
      refusals.add(JSON.stringify(told(await team.mallory.put('todoItems', { id, title: 'x' }))))
    }
    expect(refusals.size).toBe(1)
    expect([...refusals][0]).toMatch(/"NOT_AUTHORIZED","reason":"id".*@.*#/)
  })

  test('answers a write into a realm that is not there like one into a realm of others', async () => {
    await using team = await openTeam()
    await team.bob.put('todoItems', { id: 'tdiBob' })
    const refusals = new Set<string>()
    for (const realmId of ['rlmNone', 'rlmTeam', 'bob', 'nobody']) {
      refusals.add(
        JSON.stringify(told(await team.mallory.put('todoItems', { id: 'tdiNew', realmId }))),
      )
    }
    expect(refusals.size).toBe(1)
    expectRefused(await team.mallory.put('todoItems', { id: 'tdiNew', realmId: 'rlmNone' }))
  })
})

describe('objects', () => {
  test('leave a realm only with permission to remove them, and enter one only with permission to add', async () => {
    await using team = await openTeam({ permissions: { add: '*', update: '*' } })
    const item = { id: 'tdiTeam', title: 'ours', done: false, owner: 'alice' }
    expectRefused(
      await team.mallory.put('todoItems', { ...item, realmId: 'mallory' }),
      'NOT_AUTHORIZED',
      'update todoItems.realmId',
    )
    expectRefused(
      await team.mallory.put('todoItems', { ...item, owner: 'mallory' }),
      'NOT_AUTHORIZED',
      'update todoItems.owner',
    )
    expectRefused(
      await team.mallory.remove('todoItems', 'tdiTeam'),
      'NOT_AUTHORIZED',
      'manage todoItems',
    )
    await team.mallory.put('todoItems', { id: 'tdiMine' })
    expectRefused(
      await team.mallory.put('todoItems', { id: 'tdiMine', realmId: 'alice' }),
      'NOT_AUTHORIZED',
      'realmId',
    )
    expectRefused(
      await team.mallory.put('todoItems', { id: 'tdiMine', realmId: 'rlm-public' }),
      'NOT_AUTHORIZED',
      'add todoItems',
    )
    expectDone(await team.mallory.put('todoItems', { id: 'tdiMine', realmId: 'rlmTeam' }))
    expectDone(await team.mallory.put('todoItems', { id: 'tdiMine', realmId: 'mallory' }))
  })

  test('of a former member are out of their reach', async () => {
    await using team = await openTeam({ permissions: { add: ['todoItems'] } })
    expectDone(
      await team.mallory.put('todoItems', { id: 'tdiMine', realmId: 'rlmTeam', title: 'mine' }),
    )
    expectDone(await team.alice.remove('members', 'mmbMallory'))
    expect(await team.mallory.get('todoItems', 'tdiMine')).toBe('UNKNOWN_OBJECT')
    expect(await team.mallory.list('todoItems')).toEqual([])
    expectRefused(
      await team.mallory.put('todoItems', { id: 'tdiMine', title: 'changed' }),
      'NOT_AUTHORIZED',
      'id',
    )
    expectRefused(
      await team.mallory.put('todoItems', { id: 'tdiMine', title: 'mine', realmId: 'mallory' }),
      'NOT_AUTHORIZED',
      'id',
    )
    expectRefused(await team.mallory.remove('todoItems', 'tdiMine'), 'UNKNOWN_OBJECT')
  })

  test('of a private realm stay with their user, regardless of their owner', async () => {
    await using team = await openTeam()
    expectDone(
      await team.alice.put('todoItems', { id: 'tdiAlice', title: 'hers', owner: 'mallory' }),
    )
    expect(await team.mallory.get('todoItems', 'tdiAlice')).toBe('UNKNOWN_OBJECT')
    expectRefused(await team.mallory.remove('todoItems', 'tdiAlice'), 'UNKNOWN_OBJECT')
    expectDone(await team.alice.remove('todoItems', 'tdiAlice'))
  })
})

describe('a token with GLOBAL_WRITE on /my', () => {
  test('writes where it says without the access rules, and reaches only what its subject sees', async () => {
    await using team = await openTeam()
    const actor = { ...actorFor(MALLORY, 'all'), name: 'Mallory' }
    const request = {
      actor,
      view: 'my',
      table: 'todoItems',
      isArray: true,
      now: 0,
      rulesByTable: ROW_RULES,
    } as const
    const objects = [{ id: 'tdiNew' }, { id: 'tdiTeam', title: 'rewritten' }]
    const texts = await upsertObjects(team.database, { ...request, objects })
    expect(texts.map((text) => JSON.parse(text) as Value)).toEqual([
      { id: 'tdiNew', realmId: 'mallory', owner: 'mallory' },
      { id: 'tdiTeam', title: 'rewritten', realmId: 'rlmTeam', owner: 'alice' },
    ])
    expect(await get(team.database, actor, 'my', 'todoItems', 'tdiTeam')).toBe('UNKNOWN_OBJECT')
    const removal = removeObject(team.database, { ...request, key: 'tdiTeam' })
    expect(await removal.catch((error: unknown) => error)).toMatchObject({ code: 'UNKNOWN_OBJECT' })
  })
})

describe('private keys', () => {
  test('name another object for everybody', async () => {
    await using team = await openTeam()
    expectDone(await team.alice.put('notes', { id: '#diary', text: 'hers' }))
    expectDone(await team.mallory.put('notes', { id: '#diary', text: 'mine' }))
    expect(await team.alice.get('notes', '#diary')).toMatchObject({
      id: '#diary:alice',
      text: 'hers',
    })
    expect(await team.mallory.get('notes', '#diary')).toMatchObject({
      id: '#diary:mallory',
      text: 'mine',
    })
    expect(await team.mallory.list('notes')).toHaveLength(1)
  })

  test('of others are neither read, written, removed nor tied to', async () => {
    await using team = await openTeam()
    await team.alice.put('notes', { id: '#diary', text: 'hers' })
    for (const key of ['#diary', '#diary:alice']) {
      expect(await team.mallory.get('notes', key)).toBe('UNKNOWN_OBJECT')
      expectRefused(await team.mallory.remove('notes', key), 'UNKNOWN_OBJECT')
      expectRefused(
        await team.mallory.put('notes', { id: key, realmId: 'alice' }),
        'UNPROCESSABLE',
        'realmId',
      )
    }
    expectDone(await team.mallory.put('notes', { id: '#diary', text: 'mine' }))
    expectRefused(
      await team.mallory.put('notes', { id: '#diary:alice', text: 'mine' }),
      'UNPROCESSABLE',
      'id',
    )
    expectRefused(
      await team.mallory.put('realms', { realmId: 'rlm~#diary:alice' }),
      'NOT_AUTHORIZED',
      'realmId',
    )
    expect(await team.alice.get('notes', '#diary')).toMatchObject({ text: 'hers' })
  })

  test('cannot be taken by a user whose id is the end of another one', async () => {
    await using team = await openTeam()
    const [short, long] = [as(team.database, { id: 'b' }), as(team.database, { id: 'a:b' })]
    const before = await short.put('notes', { id: '#diary:a' })
    expectRefused(before, 'UNPROCESSABLE', 'id')
    expectDone(await long.put('notes', { id: '#diary', text: 'mine' }))
    expect(await long.get('notes', '#diary')).toMatchObject({ id: '#diary:a:b', text: 'mine' })
    expect(await short.get('notes', '#diary:a')).toBe('UNKNOWN_OBJECT')
    // Nor does the answer tell whether the other user has such an object.
    expect(told(await short.put('notes', { id: '#diary:a' }))).toEqual(told(before))
  })

  test('with a colon are free for users whose id is an address', async () => {
    await using team = await openTeam()
    const erin = as(team.database, { id: 'erin@example.com' })
    expectDone(await erin.put('notes', { id: '#settings:dark', text: 'mine' }))
    expect(await erin.get('notes', '#settings:dark')).toMatchObject({ text: 'mine' })
  })

  test('with a colon stay writable by their user where an administrator made them', async () => {
    await using team = await openTeam()
    const key = '#diary:monday'
    expectDone(await team.admin.put('notes', { id: `${key}:alice`, realmId: 'alice' }))
    expectDone(await team.alice.put('notes', { id: key, text: 'hers' }))
    expect(await team.alice.get('notes', key)).toMatchObject({ text: 'hers' })
  })

  test('stay in the private realm of their user, with GLOBAL_WRITE too', async () => {
    await using team = await openTeam()
    await team.alice.put('notes', { id: '#diary', text: 'hers' })
    expectRefused(
      await team.alice.put('notes', { id: '#diary', realmId: 'rlmTeam' }),
      'UNPROCESSABLE',
      'realmId',
    )
    for (const realmId of ['rlmTeam', 'rlm-public', 'mallory']) {
      expectRefused(
        await team.admin.put('notes', { id: '#diary:alice', realmId }),
        'UNPROCESSABLE',
        'id',
      )
    }
    expectRefused(
      await team.admin.put('members', { id: '#mmb:rlmTeam', realmId: 'rlmTeam' }),
      'UNPROCESSABLE',
      'id',
    )
    expectDone(
      await team.admin.put('notes', { id: '#diary:alice', realmId: 'alice', text: 'restored' }),
    )
    expect(await team.alice.get('notes', '#diary')).toMatchObject({ text: 'restored' })
  })
})
