import { describe, expect, test } from 'bun:test'
import { GRACE } from '../../src/domain/blob/collection'
import { beginUpload, type BlobCaller, type BlobServer, filesOf, setupBlobs } from './blob-setup'
import { until } from '../timing'
import { ALICE, BOB } from './setup'

const refTo = (ref: string) => ({ _bt: 'Blob', ref, size: 3, ct: 'image/png' })

/** A realm of Alice in which Bob reads. */
async function share(server: BlobServer) {
  const alice = await server.blobs(ALICE)
  const { body } = await alice.post('/my/realms', { name: 'Photos' })
  const { realmId } = body as { realmId: string }
  const member = await alice.post('/my/members', { realmId, email: BOB })
  expect(member.status).toBe(200)
  const bob = await server.blobs(BOB)
  const { id } = member.body as { id: string }
  const accepted = { $t: 'Date', v: '2030-01-01T12:00:00.000Z' }
  const joined = await bob.post('/my/members', { ...(member.body as object), id, accepted })
  expect(joined.status).toBe(200)
  return { alice, bob, realmId }
}

describe('a BlobRef', () => {
  test('is stored and given back untouched, wherever it stands (conformance 139)', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    const ref = await alice.bring('a', 'abc', 'image/png')
    const refs = {
      photo: refTo(ref),
      list: [[{ deep: { _bt: 'Uint8Array', ref, size: 3 } }]],
      text: { _bt: 'string', ref, size: 3, ct: 'text/plain;charset=utf-8' },
      _hasBlobRefs: 1,
    }
    const stored = await alice.post('/my/plain', { id: 'p', ...refs })
    expect(stored).toMatchObject({ status: 200, body: refs })
    expect((await alice.get('/my/plain/p')).body).toEqual(stored.body)
    expect((await alice.get('/my/plain')).body).toEqual([stored.body])
  })

  test('is not sent back to the device that pushed it (conformance 143)', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    const photo = refTo(await alice.bring('a', 'abc', 'image/png'))
    const first = {
      v: 3,
      clientIdentity: 'phone',
      schema: { plain: { markedForSync: true, initiallySynced: true } },
      baseRevs: [],
      y: [],
    }
    const sync = async (more: object) => {
      const body = JSON.stringify({ ...first, ...more })
      const headers = { 'content-type': 'application/tson' }
      const answer = await alice.send('POST', '/sync', { body, headers })
      return answer.body as { changes: object[]; serverRevision: string; realms: string[] }
    }
    const own = { userId: ALICE, opNo: 1 }
    const values = [{ id: 'p', owner: ALICE, realmId: ALICE, photo, _hasBlobRefs: 1 }]
    const add = { ...own, type: 'insert', keys: ['p'], values, txid: 't1', ts: 1, rev: 1 }
    const added = await sync({ changes: [{ table: 'plain', muts: [add] }] })
    expect(added.changes).toEqual([])
    const { serverRevision, realms } = added
    const lastPull = { serverRevision, realms, inviteRealms: [] }
    const changeSpecs = [{ title: 'new' }]
    const change = { ...own, type: 'update', keys: ['p'], changeSpecs, txid: 't2', ts: 2, rev: 2 }
    const changed = await sync({ lastPull, changes: [{ table: 'plain', muts: [change] }] })
    expect(changed.changes).toEqual([])
    expect((await alice.get('/my/plain/p')).body).toMatchObject({ photo, title: 'new' })
  })

  test('lets exactly those read the blob who see an object with it (conformance 141)', async () => {
    await using server = await setupBlobs()
    const { alice, bob, realmId } = await share(server)
    const carol = await server.blobs('carol@example.com')
    const ref = await alice.bring('a', 'abc', 'image/png')
    const readers = async () =>
      (await Promise.all([alice, bob, carol].map((one) => one.download(ref)))).map(
        ({ status }) => status,
      )
    expect(await readers()).toEqual([200, 404, 404])
    await alice.post('/my/plain', { id: 'p', realmId, photo: refTo(ref) })
    expect(await readers()).toEqual([200, 200, 404])
    await alice.post('/my/plain', { id: 'p', realmId: ALICE, photo: refTo(ref) })
    expect(await readers()).toEqual([200, 404, 404])
    const everything = await server.blobs('auditor@example.com')
    expect((await everything.download(ref)).status).toBe(404)
    const auditor = await server.as('auditor@example.com', ['ACCESS_DB', 'GLOBAL_READ'])
    expect((await auditor.send('HEAD', `/blob/${ref}`)).status).toBe(200)
  })

  test('is refused if the writer may not read the blob, naming the property and storing nothing', async () => {
    await using server = await setupBlobs()
    const { alice, bob } = await share(server)
    await alice.bring('secret', 'abc')
    const answers = []
    for (const ref of ['1:secret', '1:nothing-of-the-kind']) {
      const photo = { id: 'thief', a: [{ photo: refTo(ref) }] }
      const { status, body } = await bob.post('/my/plain', [{ id: 'good' }, photo])
      answers.push({ status, ...(body as object), requestId: '' })
    }
    expect(answers[0]).toMatchObject({
      status: 403,
      code: 'BLOB_NOT_READABLE',
      reason: 'a.0.photo',
    })
    expect(answers[1]).toEqual(answers[0])
    expect((await bob.get('/my/plain')).body).toEqual([])
    expect((await bob.download('1:secret')).status).toBe(404)
  })
})

describe('room for blobs', () => {
  test('is what the server says: 413 for one that is too large, 507 for a quota that is used up', async () => {
    await using server = await setupBlobs({ maxBlob: '20', userBlobQuota: '30', blobQuota: '50' })
    const [alice, bob] = [await server.blobs(ALICE), await server.blobs(BOB)]
    const large = await alice.upload('large', 'x'.repeat(21))
    expect(large).toMatchObject({ status: 413 })
    expect((await alice.upload('a1', 'x'.repeat(20))).status).toBe(200)
    expect(await alice.upload('a2', 'x'.repeat(11))).toMatchObject({
      status: 507,
      code: 'QUOTA_EXCEEDED',
    })
    expect((await alice.upload('a2', 'x'.repeat(10))).status).toBe(200)
    expect(await alice.upload('a3', 'x')).toMatchObject({ status: 507, code: 'QUOTA_EXCEEDED' })
    expect((await alice.upload('a1', 'x'.repeat(20))).status).toBe(200)
    expect((await bob.upload('b1', 'x'.repeat(20))).status).toBe(200)
    const full = await bob.upload('b2', 'x')
    expect({ status: full.status, body: full.bytes.toString() }).toEqual({
      status: 507,
      body: expect.stringContaining(
        'The blobs of this database would exceed its quota of 50 bytes',
      ),
    })
  })

  test('is returned by a collection (conformance 144)', async () => {
    await using server = await setupBlobs({ userBlobQuota: '30' })
    const alice = await server.blobs(ALICE)
    await alice.bring('old', 'x'.repeat(30))
    expect((await alice.upload('new', 'y')).status).toBe(507)
    server.clock.advance(GRACE)
    await server.commands.run('blob.gc', { database: 'main', dryRun: false })
    const later = await server.blobs(ALICE)
    expect((await later.upload('new', 'y')).status).toBe(200)
    expect((await later.download('1:old')).status).toBe(404)
  })

  test('is never overdrawn by uploads at the same time', async () => {
    await using server = await setupBlobs({ blobQuota: '100', userBlobQuota: '35' })
    const people = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => server.blobs(`${name}@example.com`)),
    )
    const upload = async (person: BlobCaller, id: string) => {
      for (;;) {
        const { status } = await person.upload(id, id.padEnd(10))
        // Others take what is left, who may not come to an end.
        if (status !== 503) return status
      }
    }
    const uploads = people.flatMap((person, n) =>
      [1, 2, 3, 4, 5].map((k) => upload(person, `${n}-${k}`)),
    )
    const statuses = await Promise.all(uploads)
    expect(statuses.filter((status) => status === 200)).toHaveLength(10)
    expect(new Set(statuses)).toEqual(new Set([200, 507]))
    const { usage } = await server.commands.run('blob.quota', { database: 'main' })
    expect(usage).toEqual({ blobs: 10, bytes: 100 })
  })

  test.each([
    ['a user', { userBlobQuota: '1000' }, ALICE],
    ['a database', { blobQuota: '1000' }, BOB],
  ])('of %s includes uploads in progress', async (_, flags, other) => {
    await using server = await setupBlobs(flags)
    const [first, second] = [await server.as(ALICE), await server.blobs(other)]
    using upload = beginUpload(server.url, first.token, '/main/blob/a', 600)
    upload.send('x'.repeat(599))
    await until(() => filesOf(server).some((file) => file.startsWith('incoming/')))
    expect((await second.upload('b', 'y'.repeat(400))).status).toBe(200)
    expect(await second.upload('c', 'y'.repeat(401))).toMatchObject({ status: 503, code: 'BUSY' })
    upload.send('x')
    expect(await upload.answered).toStartWith('HTTP/1.1 200')
    expect((await second.upload('c', 'y'.repeat(401))).status).toBe(507)
  })
})

test('one sender does not block the others', async () => {
  await using server = await setupBlobs()
  const [alice, bob] = [await server.as(ALICE), await server.blobs(BOB)]
  using stack = new DisposableStack()
  const uploads = Array.from({ length: 140 }, (_, n) => {
    const upload = stack.use(beginUpload(server.url, alice.token, `/main/blob/f${n}`, 10_000_000))
    upload.send('x'.repeat(300_000))
    return upload
  })
  await until(() => uploads.filter(({ received }) => received !== '').length >= 140 - 112)
  expect(await bob.bring('b', 'bytes')).toBe('1:b')
  const answers = uploads.map(({ received }) => received).filter((received) => received !== '')
  expect(answers.length).toBeLessThan(140)
  for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 503 [^]*"BUSY"/)
})

describe('a user who is deleted', () => {
  test('removes the blobs that no other user references', async () => {
    await using server = await setupBlobs()
    const { alice, bob, realmId } = await share(server)
    const shared = await alice.bring('shared', 'shared')
    const own = await alice.bring('own', 'own')
    await alice.bring('loose', 'loose')
    await alice.post('/my/plain', { id: 's', realmId, photo: refTo(shared) })
    await alice.post('/my/plain', { id: 'o', photo: refTo(own) })
    expect((await alice.remove(`/users/${ALICE}`)).status).toBe(204)
    const { commands } = server
    const list = { database: 'main', after: '', limit: 10, onlyUnreferenced: false }
    let refs: string[] = []
    await until(async () => {
      refs = (await commands.run('blob.list', list)).blobs.map(({ ref }) => ref)
      return refs.length === 1
    })
    expect(refs).toEqual([shared])
    expect((await bob.download(shared)).status).toBe(200)
    const again = await server.blobs(ALICE)
    for (const ref of [shared, own, '1:loose']) {
      expect((await again.download(ref)).status).toBe(404)
    }
    // The files of removed blobs stay a moment for readers who were just given their names.
    await until(async () => {
      const { strays, faults } = await commands.run('blob.verify', { database: 'main' })
      expect(faults).toEqual([])
      return strays.length === 0
    })
  })
})
