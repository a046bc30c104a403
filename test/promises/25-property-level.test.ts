import { describe, expect, test } from 'bun:test'
import { ALICE, BOB, type DataServer, setupData } from '../http/setup'

/**
 * Promise 25: property level. A role that may update `done` cannot change `title`, `realmId` or
 * `owner` (protocol.md §6.3, design.md §5.1, §5.2).
 */

const TASK = { id: 'task', title: 'Milk', done: false, inner: { a: 1, b: [1, 2] } }

/** Bob is a member of a realm of Alice, with these permissions on its one object. */
async function setupShared(server: DataServer, update: unknown, viaRole = false) {
  const alice = await server.as(ALICE)
  const { body } = await alice.post('/my/realms', { name: 'List' })
  const { realmId } = body as { realmId: string }
  const permissions = { update }
  if (viaRole) {
    await server.root.post('/public/roles', { realmId: 'rlm-public', name: 'doer', permissions })
  }
  const grants = viaRole ? { roles: ['doer'] } : { permissions }
  await server.root.post('/all/members', { realmId, userId: BOB, ...grants })
  await alice.post('/my/plain', { ...TASK, realmId })
  return { alice, bob: await server.as(BOB), realmId }
}

describe('promise 25: a member who may update "done"', () => {
  test.each([
    ['by its own permissions', false],
    ['by a role', true],
  ])('may change that and nothing else, %s', async (_, viaRole) => {
    await using server = await setupData()
    const { alice, bob, realmId } = await setupShared(server, { plain: ['done'] }, viaRole)
    const before = (await alice.get('/my/plain/task')).text
    for (const [reason, changes] of [
      ['update plain.title', { title: 'Beer' }],
      ['update plain.title', { title: undefined }],
      ['update plain.title', { title: null }],
      ['update plain.title', { title: 'Beer', done: true }],
      ['update plain.extra', { extra: null }],
      ['update plain.__proto__', { ['__proto__']: { done: true } }],
      ['update plain.inner', { inner: { a: 1, b: [2, 1] } }],
      ['update plain.inner', { inner: { a: 1 } }],
      ['update plain.Done', { Done: true }],
      ['update plain.done.x', { 'done.x': true }],
      ['update plain.owner', { owner: BOB }],
      ['update plain.owner', { owner: null }],
      ['update plain.realmId', { realmId: BOB }],
      ['update plain.realmId', { realmId: BOB, owner: BOB }],
    ] as const) {
      const answer = await bob.post('/my/plain', { ...TASK, ...changes })
      expect({ changes, answer }).toMatchObject({ changes, answer: { status: 403 } })
      expect((answer.body as { reason: string }).reason).toStartWith('update plain.')
      if (Object.keys(changes).length === 1) expect(answer.body).toMatchObject({ reason })
      expect((await alice.get('/my/plain/task')).text).toBe(before)
    }
    const done = await bob.post('/my/plain', { ...TASK, done: true })
    expect(done).toMatchObject({ status: 200, body: { done: true, realmId, owner: ALICE } })
    expect((await bob.remove('/my/plain/task')).status).toBe(403)
    expect((await bob.post('/my/plain', { id: 'new', realmId, done: true })).status).toBe(403)
    expect((await bob.post('/my/roles', { realmId, name: 'x', permissions: {} })).status).toBe(403)
  })

  test('may write the same again: order of properties, key and blob mark do not count', async () => {
    await using server = await setupData()
    const { bob, realmId } = await setupShared(server, { plain: ['done'] })
    const { id, title, inner } = TASK
    const reordered = { inner: { b: inner.b, a: inner.a }, done: true, title, id }
    for (const object of [TASK, reordered, { ...TASK, realmId, owner: ALICE, _hasBlobRefs: 1 }]) {
      expect((await bob.post('/my/plain', object)).status).toBe(200)
    }
  })

  test('may not write anything else into the blob mark, nor take it from an object with blobs', async () => {
    await using server = await setupData()
    const { alice, bob, realmId } = await setupShared(server, { plain: ['done'] })
    const photo = { _bt: 'Blob', v: 'AAAA' }
    const marked = { ...TASK, realmId, photo, _hasBlobRefs: 1 }
    expect((await alice.post('/my/plain', marked)).status).toBe(200)
    await server.root.post('/public/plain', { id: 'public', title: 'for all' })
    const { _hasBlobRefs: _, ...unmarked } = marked
    for (const [object, reason] of [
      [{ ...TASK, photo, _hasBlobRefs: { defaced: true } }, 'update plain._hasBlobRefs'],
      [{ ...TASK, photo, _hasBlobRefs: 'x'.repeat(1000) }, 'update plain._hasBlobRefs'],
      [unmarked, 'update plain._hasBlobRefs'],
      [{ id: 'public', title: 'for all', _hasBlobRefs: [1] }, 'update plain._hasBlobRefs'],
    ] as const) {
      const answer = await bob.post('/my/plain', object)
      expect(answer).toMatchObject({ status: 403, body: { reason } })
    }
    expect((await bob.post('/my/plain', { ...marked, done: true })).status).toBe(200)
  })

  test('in one request with a forbidden property changes nothing', async () => {
    await using server = await setupData()
    const { alice, bob } = await setupShared(server, { plain: ['done'] })
    const both = [
      { ...TASK, done: true },
      { ...TASK, done: true, title: 'Beer' },
    ]
    expect((await bob.post('/my/plain', both)).status).toBe(403)
    expect((await alice.get('/my/plain/task')).body).toMatchObject(TASK)
  })
})

describe('promise 25: "*"', () => {
  test.each([['*'], [{ plain: '*' }], [{ plain: ['*'] }]])(
    'as %j covers every property but owner and realm',
    async (update) => {
      await using server = await setupData()
      const { bob } = await setupShared(server, update)
      const rewritten = { id: 'task', anything: [1] }
      expect((await bob.post('/my/plain', rewritten)).status).toBe(200)
      for (const changes of [{ owner: BOB }, { owner: null }, { realmId: BOB }]) {
        const answer = await bob.post('/my/plain', { ...rewritten, ...changes })
        expect({ changes, status: answer.status }).toEqual({ changes, status: 403 })
      }
    },
  )

  test('with owner and realmId beside it covers them as well (conformance 120)', async () => {
    await using server = await setupData()
    const { bob, realmId } = await setupShared(server, { plain: ['*', 'owner', 'realmId'] })
    const taken = await bob.post('/my/plain', { ...TASK, owner: BOB })
    expect(taken).toMatchObject({ status: 200, body: { owner: BOB, realmId } })
  })

  test('of another table covers nothing here', async () => {
    await using server = await setupData()
    const { bob } = await setupShared(server, { items: '*' })
    expect((await bob.post('/my/plain', { ...TASK, done: true })).status).toBe(403)
  })
})
