import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { filesByHash } from '../blobs/files'
import { temporaryFolder } from '../setup'
import { type Caller, callMain } from './api'
import { pushSchema, satchelJson, type Served, serve } from './setup'
import { until } from '../timing'

/** Real photographs of a camera, a specification of 154 pages, and what else a package ships. */
const PACKAGE = join(import.meta.dir, '../../node_modules/exif-js')
const TYPES: Readonly<Record<string, string>> = {
  jpg: 'image/jpeg',
  pdf: 'application/pdf',
  html: 'text/html',
  js: 'text/javascript',
  md: 'text/markdown',
}

interface Document {
  readonly name: string
  readonly type: string
  readonly bytes: Uint8Array
  readonly hash: string
}

const documents = readdirSync(PACKAGE, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && typeOf(entry.name) !== '')
  .map(({ parentPath, name }): Document => {
    const bytes = readFileSync(join(parentPath, name))
    const hash = new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
    return { name: `${parentPath.slice(PACKAGE.length)}/${name}`, type: typeOf(name), bytes, hash }
  })

const ALICE = 'alice@example.com'
const BOB = 'bob@example.com'

const folder = temporaryFolder()
const surroundings = { cwd: folder.path }
const blobs = join(folder.path, 'data/databases/main/blobs')
let server: Served
let refs: readonly string[]
let realmId: string

beforeAll(async () => {
  server = await serve(surroundings)
  await pushSchema(surroundings, { albums: '@id, title' })
}, 60_000)

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
}, 60_000)

test('there are pictures and documents, large and small', () => {
  const types = new Set(documents.map(({ type }) => type))
  expect([...types]).toContain('image/jpeg')
  expect([...types]).toContain('application/pdf')
  expect(Math.max(...documents.map(({ bytes }) => bytes.length))).toBeGreaterThan(700_000)
})

test('each is uploaded as a stream, and the same one again is stored once', async () => {
  const token = await tokenOf(ALICE)
  const upload = async ({ type, bytes }: Document, id: string) => {
    const answer = await fetch(`${server.ready.url}/main/blob/${id}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': type },
      body: new Blob([Buffer.from(bytes)]).stream(),
    })
    expect(answer.status).toBe(200)
    return ((await answer.json()) as { ref: string }).ref
  }
  refs = await Promise.all(documents.map((each, n) => upload(each, `doc${n}`)))
  await upload(documents[0]!, 'twin')
  expect(contents()).toEqual([...new Set(documents.map(({ hash }) => hash))].toSorted())
})

test('the other person reads none of them, and all when they are shared through a realm', async () => {
  const [alice, bob] = [await as(ALICE), await as(BOB)]
  for (const ref of refs) expect((await download(BOB, ref)).status).toBe(404)
  ;({ realmId } = await alice.post<{ realmId: string }>('/my/realms', { name: 'Holidays' }))
  const files = documents.map(({ name, type: ct, bytes }, n) => ({
    name,
    file: { _bt: 'Blob', ref: refs[n], size: bytes.length, ct },
  }))
  await alice.post('/my/albums', { id: 'alb1', realmId, files, _hasBlobRefs: 1 })
  for (const ref of refs) expect((await download(BOB, ref)).status).toBe(404)
  const member = { id: 'mmb1', realmId, email: BOB, permissions: {} }
  await alice.post('/my/members', member)
  const accepted = { $t: 'Date', v: '2026-01-31T12:00:00.000Z' }
  await bob.post('/my/members', { ...member, accepted })
  const album = await bob.get<{ files: typeof files }>('/my/albums/alb1')
  expect(album.files).toEqual(files)
  for (const [n, document] of documents.entries()) {
    const read = await download(BOB, album.files[n]?.file.ref ?? '')
    expect({ ...read, bytes: read.bytes.equals(Buffer.from(document.bytes)) }).toEqual({
      status: 200,
      type: document.type,
      bytes: true,
    })
  }
})

test('a zip takes them to another database, byte for byte', async () => {
  const exported = await satchelJson<unknown>(['export', 'all.zip'], surroundings)
  expect(exported).toEqual({ objects: 4, blobs: documents.length + 1, leftOut: 0, damaged: [] })
  await satchelJson(['db', 'create', 'copy'], surroundings)
  await satchelJson(['import', 'all.zip', '--db', 'copy'], surroundings)
  const copied = await satchelJson<{ accessToken: string }>(
    ['token', '--sub', BOB, '--db', 'copy'],
    surroundings,
  )
  for (const [n, { bytes }] of documents.entries()) {
    const answer = await fetch(`${server.ready.url}/copy/blob/${refs[n]}`, {
      headers: { authorization: `Bearer ${copied.accessToken}` },
    })
    expect(Buffer.from(await answer.arrayBuffer()).equals(Buffer.from(bytes))).toBe(true)
  }
  await satchelJson(['db', 'delete', 'copy', '--yes'], surroundings)
  expect(existsSync(join(folder.path, 'data/databases/copy'))).toBe(false)
})

test('a former member cannot read them, and their uploader still can', async () => {
  const alice = await as(ALICE)
  await alice.remove('/my/members/mmb1')
  for (const ref of refs) {
    expect((await download(BOB, ref)).status).toBe(404)
    expect((await download(ALICE, ref)).status).toBe(200)
  }
})

const canMoveClock = process.platform === 'linux' && Bun.which('gcc') !== null

describe.if(canMoveClock)('a day later', () => {
  let later: Readonly<Record<string, string>>

  beforeAll(() => {
    const library = join(folder.path, 'clock.so')
    const source = join(import.meta.dir, 'clock.c')
    const built = Bun.spawnSync(['gcc', '-shared', '-fPIC', '-o', library, source, '-ldl'])
    expect(built.exitCode).toBe(0)
    later = { LD_PRELOAD: library, CLOCK_AHEAD: String(25 * 60 * 60) }
  })

  test('an unreferenced blob is collected, and a referenced one is not', async () => {
    const alice = await as(ALICE)
    await alice.post('/my/albums', {
      id: 'alb2',
      cover: { _bt: 'Blob', ref: refs[0], size: documents[0]?.bytes.length },
    })
    await alice.remove('/my/albums/alb1')
    await server[Symbol.asyncDispose]()
    const before = contents()
    const gc = (environment = {}) =>
      satchelJson<{ blobs: number }>(['blob', 'gc'], { ...surroundings, environment })
    // The twin has waited for a day as well.
    expect((await gc()).blobs).toBe(0)
    expect(contents()).toEqual(before)
    expect((await gc(later)).blobs).toBe(documents.length)
    expect(contents()).toEqual([documents[0]?.hash ?? ''])
    server = await serve(surroundings)
    expect((await download(ALICE, refs[0] ?? '')).status).toBe(200)
    expect((await download(ALICE, refs[1] ?? '')).status).toBe(404)
  })
})

test('the blobs of a person go with them, from the disk too', async () => {
  const token = await tokenOf('carol')
  const put = await fetch(`${server.ready.url}/main/blob/hers`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'image/png' },
    body: 'only hers',
  })
  expect(put.status).toBe(200)
  const hash = new Bun.CryptoHasher('sha256').update('only hers').digest('hex')
  expect(contents()).toContain(hash)
  await callMain(server.ready, token).post('/my/albums', {
    picture: { _bt: 'Blob', ref: '1:hers', size: 9 },
  })
  await callMain(server.ready, token).remove('/users/carol')
  await until(() => !contents().includes(hash))
  expect(contents()).not.toContain(hash)
})

test('deleting the database removes every blob', async () => {
  await satchelJson(['db', 'delete', 'main', '--yes'], surroundings)
  expect(existsSync(blobs)).toBe(false)
})

function typeOf(name: string): string {
  return TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? ''
}

/** The hashes of all stored contents. */
function contents(): string[] {
  return [...filesByHash(blobs).keys()].toSorted()
}

async function tokenOf(sub: string): Promise<string> {
  const answer = await satchelJson<{ accessToken: string }>(['token', '--sub', sub], surroundings)
  return answer.accessToken
}

async function as(sub: string): Promise<Caller> {
  return callMain(server.ready, await tokenOf(sub))
}

async function download(sub: string, ref: string) {
  const answer = await fetch(`${server.ready.url}/main/blob/${ref}`, {
    headers: { authorization: `Bearer ${await tokenOf(sub)}` },
  })
  const bytes = Buffer.from(await answer.arrayBuffer())
  return { status: answer.status, type: answer.headers.get('content-type'), bytes }
}
