import { expect, test } from 'bun:test'
import { declareTables } from '../../src/domain/object/tables'
import { parseStores } from '../../src/domain/value/schema'
import { administrator } from '../access/setup'
import { ALICE, type Message, settled, setupHub, type TestHub } from './setup'

const PUBLIC = { realmId: 'rlm-public' }
const TEXTS = '[["notes",["doc"]]]'

/** Stores what the client of Alice with this identity declares. */
async function declareTexts({ database, clock }: TestHub, identity: string, texts: string) {
  await database.write((tx) => {
    const client = tx.syncClients.ensure(ALICE.id, identity, clock.now())
    tx.syncClients.put({ ...client, tables: ['notes', 'todoItems'], texts })
  })
}

function valuesOf({ changes = [] }: Message): unknown[] {
  return changes.flatMap(({ muts }) =>
    muts.flatMap(({ values, changeSpecs }) => values ?? changeSpecs ?? []),
  )
}

test('a client that declares a Y.Doc property hears of objects without it, and others of all', async () => {
  await using scene = await setupHub()
  const root = administrator(scene.database)
  await declareTexts(scene, 'writer', TEXTS)
  let state = await scene.pulled(ALICE)
  const sockets = ['writer', 'plain'].map((identity) => scene.connect(ALICE, { identity }))
  const anonymous = scene.connect(null, { identity: 'anonymous' })
  const heard = async (object: Readonly<Record<string, unknown>>) => {
    for (const socket of sockets) socket.ready(state)
    await settled()
    await root.put('notes', object)
    const messages = await Promise.all(sockets.map((socket) => socket.next()))
    expect(messages.map(({ type }) => type)).toEqual(['changes', 'changes'])
    state = { ...state, rev: messages[0]?.newRev ?? '' }
    return messages.map((message) => valuesOf(message)[0] as object)
  }
  const [stripped, whole] = await heard({ id: 'a', title: 'one', doc: 'text', ...PUBLIC })
  expect(Object.keys(stripped!)).not.toContain('doc')
  expect(stripped).toMatchObject({ title: 'one' })
  expect(whole).toMatchObject({ title: 'one', doc: 'text' })
  expect(await heard({ id: 'a', title: 'two', doc: null, ...PUBLIC })).toEqual([
    { title: 'two' },
    { title: 'two', doc: null },
  ])
  // Long changes are not searched: an answer to a pull is made in short steps.
  for (const socket of sockets) socket.ready(state)
  await root.put('notes', { id: 'b', title: 'x'.repeat(70_000), ...PUBLIC })
  const types = await Promise.all(sockets.map(async (socket) => (await socket.next()).type))
  expect(types).toEqual(['realms-changed', 'changes'])
  // An anonymous client has said it in its request.
  const { rev: serverRevision, revision, realms, inviteRealms } = await scene.pulled(null)
  {
    using answering = scene.hub.answering('anonymous', null)
    const answer = { serverRevision, revision, realms, inviteRealms }
    answering.answered({ ...answer, tables: new Set(['notes']), texts: TEXTS })
  }
  anonymous.ready(await scene.pulled(null))
  await root.put('notes', { id: 'c', doc: 'text', title: 'three', ...PUBLIC })
  const last = valuesOf(await anonymous.next())[0] as object
  expect(last).toMatchObject({ title: 'three' })
  expect(Object.keys(last)).not.toContain('doc')
})

test('an administrator’s declaration of a Y.Doc property counts for all clients', async () => {
  await using scene = await setupHub()
  const { database, clock } = scene
  const state = await scene.pulled(ALICE)
  const object = { id: 'a', doc: 'text', title: 'one', ...PUBLIC }
  await administrator(database).put('notes', object)
  const stores = parseStores({ notes: 'id, title, doc: Y.Doc' })
  await database.write((tx) => declareTables(tx, stores, clock.now()))
  const socket = scene.connect(ALICE)
  socket.ready(state)
  const [value] = valuesOf(await socket.next()) as object[]
  expect(value).toMatchObject({ title: 'one' })
  expect(Object.keys(value!)).not.toContain('doc')
})
