import { describe, expect, test } from 'bun:test'
import {
  card,
  connect,
  drop,
  inTable,
  isRejected,
  put,
  read,
  revisionOf,
  setupPush,
  upsert,
} from './push-setup'

describe('an upload of anonymous work', () => {
  test('stores each row alone: a refused one costs no other', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const before = await revisionOf(database)
    const pushed = await alice.send(
      [[upsert(card('a'), card('b', {}, 'alice', 'rlm-nowhere'), card('c'))]],
      { isUpload: true },
    )
    expect(pushed.rejections).toHaveLength(1)
    expect([isRejected(pushed, 'a'), isRejected(pushed, 'b'), isRejected(pushed, 'c')]).toEqual([
      false,
      true,
      false,
    ])
    expect(await read(database, 'cards', 'a')).toBeDefined()
    expect(await read(database, 'cards', 'b')).toBeUndefined()
    expect(await read(database, 'cards', 'c')).toBeDefined()
    expect(await revisionOf(database)).toBeGreaterThan(before)
  })

  test('leaves rows that are there, except older private ones', async () => {
    await using database = await setupPush()
    await put(database, 'cards', [
      card('a', { n: 'server' }),
      card('#new:alice', { n: 'server', $$ts: 5 }),
      card('#old:alice', { n: 'server', $$ts: 5 }),
    ])
    const alice = await connect(database, 'alice')
    const pushed = await alice.send(
      [
        [
          upsert(
            card('a', { n: 'client' }),
            card('#new:alice', { n: 'client', $$ts: 9 }),
            card('#old:alice', { n: 'client', $$ts: 1 }),
          ),
        ],
      ],
      { isUpload: true },
    )
    expect(pushed.rejections).toEqual([])
    const n = async (key: string) => (await read(database, 'cards', key))?.['n']
    expect([await n('a'), await n('#new:alice'), await n('#old:alice')]).toEqual([
      'server',
      'client',
      'server',
    ])
    expect(pushed.named.get('cards')?.get('a')?.isAsSent).toBe(false)
  })

  test('takes realms before members and the rest, and makes the owner no member twice', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const none = 'unauthorized'
    const realm = { id: 'rlm-own', realmId: 'rlm-own', owner: 'alice', name: 'List' }
    const rows = {
      cards: [
        ...Array.from({ length: 120 }, (_, n) => card(`a${n}`, {}, 'alice', 'rlm-own')),
        card('#theme:alice'),
      ],
      members: [
        { id: 'mmb-me', realmId: 'rlm-own', owner: none, userId: 'alice' },
        { id: 'mmb-bob', realmId: 'rlm-own', owner: none, userId: 'alice', email: 'bob@b.com' },
      ].map((row) => ({ ...row, id: `${row.id}-x` })),
      realms: [realm],
    }
    const operations = Object.entries(rows).map(([table, values]) =>
      inTable(table, upsert(...values)),
    )
    const pushed = await alice.send([operations], { isUpload: true })
    expect(pushed.rejections).toEqual([])
    expect(await read(database, 'cards', 'a0')).toBeDefined()
    expect(await read(database, 'members', 'mmb-me-x')).toMatchObject({ owner: 'alice' })
    expect((await read(database, 'members', 'mmb-bob-x'))?.['userId']).toBeUndefined()
    const members = await database.read((tx) => {
      const found = tx.realms.find('rlm-own')
      return tx.memberships.ofRealm(found!.ref, '', 100)
    })
    expect(members.map(({ source }) => source).toSorted()).toEqual([
      'members:mmb-bob-x',
      'members:mmb-me-x',
      'realms:rlm-own',
    ])
  })

  test('judges each row with the rights that the rows before it have left', async () => {
    await using database = await setupPush()
    await put(database, 'realms', [{ realmId: 'rlm-other' }])
    const alice = await connect(database, 'alice')
    const realms = [
      { id: 'rlm-mine', realmId: 'rlm-mine', owner: 'alice' },
      { id: 'rlm-none', realmId: 'rlm-none', owner: null },
      { id: 'rlm-bobs', realmId: 'rlm-bobs', owner: 'bob' },
      { id: 'rlm-last', owner: 'unauthorized' },
    ]
    const rowsIn = (prefix: string) =>
      ['rlm-mine', 'rlm-none', 'rlm-bobs', 'rlm-last', 'rlm-other', 'rlm-team', 'rlm-public'].map(
        (realmId) => ({ id: `${prefix}${realmId}`, realmId, name: 'x', owner: null }),
      )
    const roles = rowsIn('').map((row) => ({ ...row, id: `["${row.realmId}","x"]` }))
    const pushed = await alice.send(
      [
        [
          inTable('realms', upsert(...realms)),
          inTable('members', upsert(...rowsIn('mmb'))),
          inTable('roles', upsert(...roles)),
          upsert(...rowsIn('card')),
        ],
      ],
      { isUpload: true },
    )
    const own = ['rlm-mine', 'rlm-last', 'rlm-team']
    const stored = (table: string, rows: readonly { id: string; realmId: string }[]) =>
      rows.filter(({ id }) => isRejected(pushed, id, table) === false).map(({ realmId }) => realmId)
    expect(stored('members', rowsIn('mmb'))).toEqual(own)
    expect(stored('roles', roles)).toEqual(own)
    expect(stored('cards', rowsIn('card'))).toEqual(own)
    expect(isRejected(pushed, 'rlm-bobs', 'realms')).toBe(true)
  })

  test('refuses a row alone whose key cannot be stored', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const pushed = await alice.send([[upsert(card('a'), card('\u0000'), card('b'))]], {
      isUpload: true,
    })
    expect(pushed.rejections).toMatchObject([{ name: 'UNPROCESSABLE' }])
    expect(isRejected(pushed, '\u0000')).toBe(true)
    expect([await read(database, 'cards', 'a'), await read(database, 'cards', 'b')]).toMatchObject([
      { id: 'a' },
      { id: 'b' },
    ])
  })

  test('is stored once, and answered again', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const options = { isUpload: true, txids: ['upload-one'] }
    await alice.send([[upsert(card('a'))]], options)
    await alice.push(drop('a'))
    const again = await alice.send([[upsert(card('a'))]], options)
    expect(await read(database, 'cards', 'a')).toBeUndefined()
    expect(again.named.get('cards')?.get('a')).toMatchObject({ isAsSent: false, isRejected: false })
  })

  test('of thousands of rows is stored in several units', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const rows = Array.from({ length: 1_200 }, (_, n) => card(`k${n}`, { n }))
    const before = await revisionOf(database)
    const refused = card('refused', {}, 'alice', 'rlm-nowhere')
    const pushed = await alice.send([[upsert(...rows, refused)]], { isUpload: true })
    expect(pushed.rejections).toHaveLength(1)
    expect((await revisionOf(database)) - before).toBeGreaterThanOrEqual(2)
    expect(await read(database, 'cards', 'k1199')).toMatchObject({ n: 1_199 })
  })

  test('names the revisions that only it has changed, for its answer', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const before = await revisionOf(database)
    const rows = Array.from({ length: 1_200 }, (_, n) => card(`k${n}`, { n }))
    const { ownRevisions } = await alice.send([[upsert(...rows)]], { isUpload: true })
    const revisions = Array.from({ length: (await revisionOf(database)) - before }, (_, n) => n + 1)
    expect([...ownRevisions].toSorted((one, other) => one - other)).toEqual(
      revisions.map((n) => before + n),
    )
    const realm = { realmId: 'rlm-own', name: 'List' }
    const other = inTable('realms', { type: 'upsert', keys: ['rlm-own'], values: [realm] })
    expect(
      (await alice.send([[other, upsert(card('x'))]], { isUpload: true })).ownRevisions.size,
    ).toBe(0)
  })

  test('lets other writers in between its units', async () => {
    await using database = await setupPush()
    const alice = await connect(database, 'alice')
    const rows = Array.from({ length: 3_000 }, (_, n) => card(`k${n}`, { n }))
    let isOver = false
    const uploading = alice.send([[upsert(...rows)]], { isUpload: true }).finally(() => {
      isOver = true
    })
    for (let n = 0; !isOver; n += 1) {
      await put(database, 'lists', [{ id: `list${n}`, realmId: 'rlm-public' }])
    }
    await uploading
    const revision = async (name: string, key: string) =>
      database.read((tx) => {
        const table = tx.tables.find(name)
        return tx.objects.find(table!, key)?.revision ?? Infinity
      })
    const last = await revision('cards', 'k2999')
    expect(await revision('lists', 'list1')).toBeLessThan(last)
  })
})
