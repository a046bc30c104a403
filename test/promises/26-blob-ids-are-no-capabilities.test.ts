import { describe, expect, test } from 'bun:test'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { GRACE } from '../../src/domain/blob/collection'
import { asClient } from '../auth/setup'
import { fileWith } from '../blobs/files'
import { type BlobCaller, blobCaller, type BlobServer, setupBlobs } from '../http/blob-setup'
import { ALICE, BOB, callerOf } from '../http/setup'

/**
 * Promise 26: blob ids are not capabilities. A blob is readable only through a realm that references
 * it, and a reference counts only if its writer could read the blob (design.md §5.9). Random lives of
 * blobs are in test/access/blob-sequence.test.ts.
 */

const SECRET = 'the secret of Alice'
const REF = '1:leaked'

interface Scene {
  readonly server: BlobServer
  readonly alice: BlobCaller
  readonly bob: BlobCaller
  /** A realm in which both may write. */
  readonly realmId: string
}

/** Alice has a blob in her private realm, and Bob has come to know its ref. */
async function setupLeak(server: BlobServer): Promise<Scene> {
  const [alice, bob] = [await server.blobs(ALICE), await server.blobs(BOB)]
  await alice.bring('leaked', SECRET, 'text/plain')
  await expectStored(alice.post('/my/plain', { id: 'diary', page: refTo(REF) }))
  const { body } = await alice.post('/my/realms', { name: 'Ours' })
  const { realmId } = body as { realmId: string }
  const permissions = { manage: '*' }
  await expectStored(server.root.post('/all/members', { realmId, userId: BOB, permissions }))
  return { server, alice, bob, realmId }
}

const refTo = (ref: string) => ({ _bt: 'Blob', ref, size: SECRET.length, ct: 'text/plain' })

async function expectStored(answer: Promise<{ readonly status: number; readonly text: string }>) {
  const { status, text } = await answer
  expect({ status, text }).toMatchObject({ status: 200 })
}

/** Bob has nothing of the blob, by any address, and Alice still has all of it. */
async function expectKept({ server, alice, bob }: Scene): Promise<void> {
  const anyone = await server.blobs()
  for (const ref of [REF, '1%3Aleaked', 'leaked', '2:leaked', '1:leaked/', ':leaked']) {
    const [byBob, byNobody] = [await bob.download(ref), await anyone.download(ref)]
    expect([ref, byBob.status, byNobody.status]).toEqual([ref, 404, 401])
    for (const { bytes } of [byBob, byNobody]) expect(bytes.toString()).not.toContain('secret')
  }
  expect((await alice.download(REF)).bytes.toString()).toBe(SECRET)
}

const DISGUISES: Readonly<Record<string, unknown>> = {
  plainly: refTo(REF),
  'in arrays': [[[refTo(REF)]]],
  'deep inside': { a: { b: { c: { d: refTo(REF) } } } },
  'as a string': { ...refTo(REF), _bt: 'string' },
  'of an unknown type': { ...refTo(REF), _bt: 'Whatever' },
  'with an inline value that is undefined': { ...refTo(REF), v: { $t: 'undefined' } },
  'in a map': { $t: 'Map', v: [['key', refTo(REF)]] },
  'inside another one': { _bt: 'Blob', ref: REF, size: 1, more: refTo(REF) },
  'under __proto__': JSON.parse(`{"__proto__": ${JSON.stringify(refTo(REF))}}`),
}

describe('promise 26: a user who knows the ref of a blob', () => {
  test.each(Object.keys(DISGUISES))('gains nothing by storing it %s', async (name) => {
    await using server = await setupBlobs()
    const scene = await setupLeak(server)
    const { bob, realmId } = scene
    const own = { id: 'own', note: 'mine', realmId: BOB }
    await expectStored(bob.post('/my/plain', own))
    for (const marker of [{}, { _hasBlobRefs: 1 }, { _hasBlobRefs: 0 }]) {
      for (const place of [{ realmId: BOB }, { realmId }]) {
        const answers = [
          await bob.post('/my/plain', { id: 'new', page: DISGUISES[name], ...place, ...marker }),
          await bob.post('/my/plain', [own, { ...own, page: DISGUISES[name], ...marker }]),
          await bob.post('/my/realms', { name: 'Mine', page: DISGUISES[name], ...marker }),
        ]
        for (const { status, body } of answers) {
          expect({ status, body }).toMatchObject({
            status: 403,
            body: { code: 'BLOB_NOT_READABLE' },
          })
        }
      }
    }
    expect((await bob.get('/my/plain')).body).toMatchObject([own])
    await expectKept(scene)
  })

  test('gains nothing by uploading under its id, and changes nothing', async () => {
    await using server = await setupBlobs()
    const scene = await setupLeak(server)
    const { bob } = scene
    const guesses = ['', 'x', SECRET.slice(1), `${SECRET} `]
    for (const guess of guesses) expect((await bob.upload('leaked', guess)).status).toBe(409)
    // Not even the type of a blob whose bytes they have.
    expect((await bob.upload('leaked', SECRET, { ct: 'image%2Fpng' })).status).toBe(409)
    await expectKept(scene)
  })

  test('is told of one that is there what they are told of one that is not', async () => {
    await using server = await setupBlobs()
    const { bob } = await setupLeak(server)
    const told = async (ref: string) => {
      const { status, headers, bytes } = await bob.download(ref)
      const body = JSON.parse(bytes.toString()) as object
      const names = [...headers.keys()].toSorted()
      const write = await bob.post('/my/plain', { id: 'x', page: refTo(ref) })
      const refusal = { ...(write.body as object), requestId: '' }
      return { status, names, body: { ...body, requestId: '' }, refusal }
    }
    expect(await told(REF)).toEqual(await told('1:never-was'))
  })

  test('loses a blob with the realm, the membership or the object that showed it', async () => {
    await using server = await setupBlobs()
    const scene = await setupLeak(server)
    const { alice, bob, realmId } = scene
    const shared = { id: 'shared', page: refTo(REF), realmId }
    const losses = [
      () => alice.post('/my/plain', { ...shared, page: null }),
      () => alice.post('/my/plain', { ...shared, realmId: ALICE }),
      () => alice.remove('/my/plain/shared'),
      () => bob.remove(`/my/plain/shared`),
      () => alice.remove(`/my/realms/${realmId}`),
    ]
    for (const lose of losses) {
      await expectStored(alice.post('/my/plain', shared))
      expect((await bob.download(REF)).status).toBe(200)
      expect((await lose()).status).toBeLessThan(300)
      await expectKept(scene)
      // They may not restore a blob that they once saw.
      expect((await bob.post('/my/plain', { ...shared, id: 'back', realmId: BOB })).status).toBe(
        403,
      )
    }
  })

  test('has no use of it in another database', async () => {
    await using server = await setupBlobs()
    const scene = await setupLeak(server)
    const { client } = await server.commands.run('db.create', { name: 'other' })
    const other = `${server.url}/other`
    const answer = await callerOf(other).post('/token', {
      ...asClient(client),
      scopes: ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE'],
    })
    const { accessToken } = answer.body as { accessToken: string }
    const all = callerOf(other, accessToken)
    expect((await all.get(`/blob/${REF}`)).status).toBe(404)
    expect((await callerOf(server.main, accessToken).get(`/blob/${REF}`)).status).toBe(401)
    // Equal content in two databases is two files: neither the disk nor the time tells of the other.
    await blobCaller(all, other).bring('own', SECRET)
    const [here, there] = ['main', 'other'].map((name) =>
      statSync(fileWith(join(server.folder, 'databases', name, 'blobs'), SECRET)),
    )
    expect([here?.nlink, there?.nlink]).toEqual([1, 1])
    expect(here?.ino).not.toBe(there?.ino)
    await expectKept(scene)
  })
})

/** RESTler's rules: use after free, resource leak, resource hierarchy, user namespace. */
describe('promise 26: a blob', () => {
  test('that was collected cannot be read, and its id is free again', async () => {
    await using server = await setupBlobs()
    const { alice } = await setupLeak(server)
    await alice.remove('/my/plain/diary')
    server.clock.advance(GRACE)
    await server.commands.run('blob.gc', { database: 'main', dryRun: false })
    const [late, bob] = [await server.blobs(ALICE), await server.blobs(BOB)]
    expect((await late.download(REF)).status).toBe(404)
    expect((await bob.upload('leaked', 'of Bob')).status).toBe(200)
    expect((await late.download(REF)).status).toBe(404)
    expect((await bob.download(REF)).bytes.toString()).toBe('of Bob')
  })

  test('whose upload was refused is not there', async () => {
    await using server = await setupBlobs({ maxBlob: '10' })
    const bob = await server.blobs(BOB)
    expect((await bob.upload('large', 'x'.repeat(11))).status).toBe(413)
    const { blobs } = await server.commands.run('blob.list', {
      database: 'main',
      after: '',
      limit: 10,
      onlyUnreferenced: false,
    })
    expect(blobs).toEqual([])
    const { strays } = await server.commands.run('blob.verify', { database: 'main' })
    expect(strays).toEqual([])
    expect((await bob.download('1:large')).status).toBe(404)
  })

  test('of a deleted user is not the one’s who comes back under their name', async () => {
    await using server = await setupBlobs()
    const { alice } = await setupLeak(server)
    expect((await alice.remove(`/users/${ALICE}`)).status).toBe(204)
    const again = await server.blobs(ALICE)
    expect((await again.download(REF)).status).toBe(404)
    expect((await again.post('/my/plain', { id: 'new', page: refTo(REF) })).status).toBe(403)
  })
})
