import { expect, test } from 'bun:test'
import { ALICE, setupData } from '../setup'

const SCHEMA = { notes: '@id, title, content:Y.Doc, meta.draft: Y' }

test.each([
  ['content', { content: null }],
  ['content', { content: 'text' }],
  ['meta.draft', { meta: { draft: 1 } }],
])('a value in %s, declared Y.Doc by a pushed schema, is refused: %j', async (path, value) => {
  await using server = await setupData()
  await server.push(SCHEMA)
  const alice = await server.as(ALICE)
  const refusal = { status: 422, body: { code: 'UNPROCESSABLE', reason: path } }
  const bad = { title: 'bad', ...value }
  for (const view of ['my', 'all', 'public']) {
    const caller = view === 'my' ? alice : server.root
    const realm = view === 'all' ? { realmId: 'rlm-public' } : {}
    expect(await caller.post(`/${view}/notes`, { ...bad, ...realm })).toMatchObject(refusal)
    const several = await caller.post(`/${view}/notes`, [{ title: 'good', ...realm }, bad])
    expect(several).toMatchObject(refusal)
    expect(several.text).toContain(`[1].${path}`)
  }
  const put = await alice.send('PUT', '/my/notes/nts1', { body: { id: 'nts1', ...bad } })
  expect(put).toMatchObject(refusal)
  const body = { data: { 'rlm-public': { notes: { nts1: bad } } } }
  const imported = await server.root.post('/import', body)
  expect(imported.status).toBe(422)
  expect(imported.text).toContain(path)
  expect((await server.root.get('/all/notes')).body).toEqual([])
  const good = { title: 'good', meta: { other: 1 } }
  expect(await alice.post('/my/notes', good)).toMatchObject({ status: 200 })
})

test('a Y.Doc that only a client declares keeps out no values of others', async () => {
  await using server = await setupData()
  const alice = await server.as(ALICE)
  const answer = await alice.post('/sync', {
    v: 3,
    clientIdentity: 'device',
    schema: { notes: { markedForSync: true, primaryKey: 'id, doc: Y.Doc', yProps: ['doc'] } },
    changes: [],
    y: [],
  })
  expect(answer.status).toBe(200)
  expect(await alice.post('/my/notes', { id: 'a', doc: 'text' })).toMatchObject({ status: 200 })
})
