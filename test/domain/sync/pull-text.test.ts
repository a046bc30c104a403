import { expect, test } from 'bun:test'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import { storeRequest } from '../../../src/domain/sync/sync'
import { createDevice, declare, many, MARKED, NOW, openWorld, SCHEMA, user } from './setup'
import { readRequest } from './read-request'

const ALICE = user('alice')
const TEXT = { ...SCHEMA, notes: { ...MARKED, yProps: ['doc', '$own'] } }

function deviceWith(database: Parameters<typeof createDevice>[0], schema: typeof SCHEMA = TEXT) {
  const device = createDevice(database, ALICE)
  device.schema = schema
  return device
}

test('a client that declares a Y.Doc property gets no value of it: at first, later and in long answers', async () => {
  await using world = await openWorld()
  const { database, put } = world
  await put(ALICE, 'notes', { id: 'a', doc: 'text', title: '"doc":', $$own: 1, deep: { doc: 1 } })
  await put(ALICE, 'items', { id: 'itm1', doc: 'kept' })
  const device = deviceWith(database)
  await device.pull()
  const place = { realmId: 'alice', owner: 'alice' }
  const note = { id: 'a', title: '"doc":', deep: { doc: 1 }, ...place }
  expect(device.table('notes')).toEqual([note])
  expect(device.table('items')).toEqual([{ id: 'itm1', doc: 'kept', ...place }])
  await put(ALICE, 'notes', { id: 'a', doc: null, title: 'new', $$own: 2 }, { id: 'b', doc: {} })
  const { changes } = await device.pull()
  expect(changes.flatMap(({ muts }) => muts.map(({ type }) => type))).toContain('update')
  expect(device.table('notes')).toMatchObject([{ id: 'a', title: 'new' }, { id: 'b' }])
  expect(JSON.stringify(device.table('notes'))).not.toMatch(/doc":(?!1)|\$own/)
  await put(
    ALICE,
    'notes',
    ...many(2_000, (at) => ({ id: `n${at}`, doc: 'text', title: 'x'.repeat(100) })),
  )
  for (const late of [device, deviceWith(database)]) {
    expect((await late.pull()).parts).toBeGreaterThan(1)
    expect(late.table('notes')).toHaveLength(2_002)
    expect(late.table('notes').some((row) => Object.hasOwn(row, 'doc'))).toBe(false)
  }
  expect(await world.get('notes', 'b')).toMatchObject({ doc: {} })
})

test('nor in what it sent itself, and an administrator’s declaration counts for all clients', async () => {
  await using world = await openWorld()
  const { database, put } = world
  await put(ALICE, 'notes', { id: 'a', doc: 'text', title: 'one' })
  const plain = deviceWith(database, SCHEMA)
  await plain.pull()
  expect(plain.table('notes')).toMatchObject([{ doc: 'text' }])
  const device = deviceWith(database)
  await device.pull()
  const named = {
    base: 0,
    isAsSent: false,
    isRejected: true,
    revision: undefined,
    properties: undefined,
  }
  const rejected = await device.pull({ named: new Map([['notes', new Map([['a', named]])]]) })
  expect(rejected.changes).toMatchObject([{ muts: [{ type: 'upsert', keys: ['a'] }] }])
  expect(Object.keys(device.table('notes')[0] ?? {})).not.toContain('doc')
  await declare(database, { notes: 'id, doc: Y.Doc' })
  const late = deviceWith(database, SCHEMA)
  await late.pull()
  expect(Object.keys(late.table('notes')[0] ?? {})).toEqual(['id', 'title', 'realmId', 'owner'])
})

test('the declaration of a client is stored when it is new, and not again', async () => {
  await using world = await openWorld()
  const { database } = world
  const declared = async (schema: object) => {
    const body = { v: 3, clientIdentity: 'device', schema, baseRevs: [], changes: [] }
    const request = readRequest(body)
    const limits = { maxObjectBytes: 1e6, maxProperties: 1e4, maxDepth: 100 } as never
    await storeRequest(database, {
      actor: ALICE,
      request,
      now: NOW,
      rulesByTable: ROW_RULES,
      limits,
    })
    return await database.read((tx) => ({
      texts: tx.syncClients.find('alice', 'device')?.texts,
      revision: tx.revision(),
    }))
  }
  expect(await declared(SCHEMA)).toMatchObject({ texts: '' })
  const { texts, revision } = await declared(TEXT)
  expect(texts).toBe('[["notes",["doc","$$own"]]]')
  expect(await declared(TEXT)).toEqual({ texts, revision })
  expect(await declared({ notes: { ...TEXT.notes, deleted: true } })).toMatchObject({ texts: '' })
})

test.each([
  ['INVALID_REQUEST', 'yProps', 'doc'],
  ['INVALID_REQUEST', 'yProps', [1]],
  ['INVALID_REQUEST', 'yProps', ['x'.repeat(257)]],
  ['INVALID_REQUEST', 'yProps', ['\ud801']],
  ['UNPROCESSABLE', '100', many(101, (at) => `doc${at}`)],
])('a declaration that no client makes is refused: %s %s', (code, said, yProps) => {
  const schema = { notes: { ...MARKED, yProps } }
  const body = { v: 3, clientIdentity: 'device', schema, baseRevs: [], changes: [] }
  let refusal: unknown
  try {
    readRequest(body)
  } catch (error) {
    refusal = error
  }
  expect(refusal).toMatchObject({ code, message: expect.stringContaining(said) as string })
})
