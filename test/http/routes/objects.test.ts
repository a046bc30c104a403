import { describe, expect, test } from 'bun:test'
import { ALICE, BOB, objectsOf, setupData } from '../setup'

describe('POST', () => {
  test('answers one object for one and an array for an array, as they are stored (conformance 26)', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const one = await alice.post('/my/plain', { id: 'a', title: 'Ärger' })
    expect(one.status).toBe(200)
    expect(one.text).toBe(`{"id":"a","title":"Ärger","realmId":"${ALICE}","owner":"${ALICE}"}`)
    const many = await alice.post('/my/plain', [{ id: 'b' }, { id: 'c' }])
    expect(many.body).toEqual([
      { id: 'b', realmId: ALICE, owner: ALICE },
      { id: 'c', realmId: ALICE, owner: ALICE },
    ])
    expect((await alice.get('/my/plain')).text).toBe(`[${one.text},${many.text.slice(1)}`)
    expect((await alice.post('/my/plain', [{ id: 'd' }])).body).toBeArrayOfSize(1)
    expect((await alice.post('/my/plain', [])).text).toBe('[]')
  })

  test('answers without a body if the caller prefers that', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    for (const prefer of ['return=minimal', 'Return = Minimal', 'wait=5, return="minimal"']) {
      const answer = await alice.post('/my/items', { n: 1 }, { prefer })
      expect(answer).toMatchObject({ status: 204, text: '' })
    }
    for (const prefer of ['return=representation', 'noreturn=minimal', 'return=minimalist']) {
      expect((await alice.post('/my/items', { n: 1 }, { prefer })).status).toBe(200)
    }
    expect(objectsOf(await alice.get('/my/items'))).toBeArrayOfSize(6)
  })

  test('replaces what has the key: all of it but realm and owner (spec.md §4.1 rule 1)', async () => {
    await using server = await setupData()
    const { root } = server
    await root.post('/all/plain', { id: 'a', realmId: 'rlm-public', owner: ALICE, x: 1, y: 1 })
    const replaced = await root.post('/all/plain', { id: 'a', realmId: 'rlm-public', z: 2 })
    const stored = { id: 'a', realmId: 'rlm-public', owner: ALICE, z: 2 }
    expect(replaced.body).toEqual(stored)
    expect((await root.get('/all/plain')).body).toEqual([stored])
    const cleared = await root.post('/all/plain', { id: 'a', realmId: 'rlm-public', owner: null })
    expect(cleared.body).toEqual({ id: 'a', realmId: 'rlm-public', owner: null })
  })

  test('lets the last of equal keys in a request win', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const objects = [1, 2, 3].map((n) => ({ id: 'a', n }))
    expect((await alice.post('/my/plain', objects)).status).toBe(200)
    expect((await alice.get('/my/plain')).body).toMatchObject([{ id: 'a', n: 3 }])
  })

  test('makes keys for tables that have them made (rule 2, 3, 4) (conformance 28)', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const { body } = await alice.post('/my/items', [{ n: 1 }, { n: 2 }, { id: 'own', n: 3 }])
    const ids = (body as { id: string }[]).map(({ id }) => id)
    expect(ids[0]).toMatch(/^itm[\w|]{27}$/)
    expect(ids[1]! > ids[0]!).toBe(true)
    expect(ids[2]).toBe('own')
    for (const path of ['/all/items', '/public/items']) {
      const made = await server.root.post(path, { realmId: 'rlm-public' })
      expect(made.body).toMatchObject({ id: expect.stringMatching(/^itm/), realmId: 'rlm-public' })
    }
  })

  test('puts an object where its address says (rules 2, 3, 4) (conformance 27)', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    expect((await alice.post('/my/plain', { id: 'a' })).body).toMatchObject({ realmId: ALICE })
    const open = await server.root.post('/public/plain', { id: 'b' })
    expect(open.body).toMatchObject({ realmId: 'rlm-public', owner: null })
    const placed = await server.root.post('/all/plain', { id: 'c', realmId: BOB })
    expect(placed.body).toMatchObject({ realmId: BOB, owner: BOB })
    const homeless = await server.root.post('/all/plain', [{ id: 'd', realmId: BOB }, { id: 'e' }])
    expect(homeless).toMatchObject({ status: 422, body: { reason: 'realmId' } })
    expect((await server.root.get('/all/plain/d')).status).toBe(404)
    const elsewhere = await server.root.post('/public/plain', { id: 'f', realmId: BOB })
    expect(elsewhere).toMatchObject({ status: 422, body: { reason: 'realmId' } })
    const foreign = await server.root.post('/public/plain', { id: 'c', x: 1 })
    expect(foreign).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
    expect((await server.root.get('/all/plain/c')).body).not.toHaveProperty('x')
    const nowhere = await server.root.post('/all/plain', { id: 'g', realmId: 'rlmUnknown' })
    expect(nowhere).toMatchObject({ status: 422, body: { code: 'UNKNOWN_REALM' } })
  })

  test('stores all or nothing', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    await alice.post('/my/plain', { id: 'a', n: 0 })
    const objects: object[] = Array.from({ length: 1200 }, (_, n) => ({ id: `k${n}`, n }))
    const broken = [{ id: 'a', n: 1 }, ...objects, { title: 'without a key' }]
    const answer = await alice.post('/my/plain', broken)
    expect(answer).toMatchObject({ status: 422, body: { code: 'UNPROCESSABLE', reason: 'id' } })
    const refused = await alice.post('/my/plain', [...objects, { id: 'z', realmId: BOB }])
    expect(refused).toMatchObject({ status: 403, body: { reason: 'realmId' } })
    expect((await alice.get('/my/plain')).body).toMatchObject([{ id: 'a', n: 0 }])
  })

  test('moves the object to the realm that is named and leaves it where none is', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const realm = await alice.post('/my/realms', { name: 'List' })
    const { realmId } = realm.body as { realmId: string }
    await alice.post('/my/plain', { id: 'a' })
    expect((await alice.post('/my/plain', { id: 'a', realmId })).body).toMatchObject({ realmId })
    expect((await alice.post('/my/plain', { id: 'a', x: 1 })).body).toMatchObject({ realmId, x: 1 })
    expect((await alice.get(`/my/plain?realmId=${ALICE}`)).body).toEqual([])
    expect((await alice.get(`/my/plain?realmId=${realmId}`)).body).toMatchObject([{ x: 1 }])
  })

  test.each([
    ['null', 'null'],
    ['a number', '42'],
    ['a text', '"x"'],
    ['true', 'true'],
    ['an array in an array', '[[]]'],
    ['null in an array', '[{"id":"a"},null]'],
  ])('refuses %s for an object', async (_, body) => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const answer = await alice.send('POST', '/my/plain', { body })
    expect(answer).toMatchObject({ status: 422, body: { code: 'UNPROCESSABLE' } })
    expect((await alice.get('/my/plain')).text).toBe('[]')
  })

  const KEYS = [
    [undefined, 'is missing'],
    [null, 'is missing'],
    [1, 'must be a string'],
    [true, 'must be a string'],
    [{}, 'must be a string'],
    [['a', 'b'], 'must be a string'],
    [{ $t: 'Date', v: '2020-01-01T00:00:00.000Z' }, 'must be a string'],
    ['', 'must not be empty'],
    ['.', 'must not be empty'],
    ['..', 'must not be empty'],
    ['["a",1]', 'must not look like a JSON array'],
    ['[]', 'must not look like a JSON array'],
    ['a\nb', 'control characters'],
    ['\u009f', 'control characters'],
    ['\ud800', 'well-formed'],
    ['x'.repeat(1025), 'longer than 1024 bytes'],
    ['用'.repeat(342), 'longer than 1024 bytes'],
  ] as const

  test('refuses what cannot be a key, a realm id or an owner, and says what is wrong', async () => {
    await using server = await setupData()
    for (const [id, problem] of KEYS) {
      const answer = await server.root.post('/public/plain', { id, title: 'x' })
      expect(answer).toMatchObject({ status: 422, body: { reason: 'id' } })
      expect(answer.text).toContain(problem)
    }
    for (const property of ['realmId', 'owner']) {
      for (const [value, problem] of KEYS) {
        // Absent and null have a meaning here, and only keys must not look like arrays.
        if (value === undefined || value === null || problem.includes('JSON array')) continue
        const object = { id: 'a', realmId: 'rlm-public', [property]: value }
        const answer = await server.root.post('/all/plain', object)
        expect(answer).toMatchObject({ status: 422, body: { reason: property } })
      }
    }
    expect((await server.root.get('/all/plain')).text).toBe('[]')
  })

  test('takes keys that are unusual but sound', async () => {
    await using server = await setupData()
    const keys = [
      'a/b',
      'a b',
      '%2F',
      '?',
      'x#',
      '+',
      "'; DROP TABLE x; --",
      '用'.repeat(341),
      '😀',
    ]
    const objects = keys.map((id, n) => ({ id, n }))
    expect((await server.root.post('/public/plain', objects)).status).toBe(200)
    for (const [n, key] of keys.entries()) {
      const found = await server.anyone.get(`/public/plain/${encodeURIComponent(key)}`)
      expect(found.body).toMatchObject({ id: key, n })
    }
    for (const key of keys) {
      const path = `/public/plain/${encodeURIComponent(key)}`
      expect((await server.root.remove(path)).status).toBe(204)
    }
    expect((await server.anyone.get('/public/plain')).text).toBe('[]')
  })

  test('keeps a private key apart for everyone (protocol.md §10.3) (conformance 135)', async () => {
    await using server = await setupData()
    const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
    const own = await alice.post('/my/plain', { id: '#settings', theme: 'dark' })
    expect(own.body).toMatchObject({ id: `#settings:${ALICE}`, realmId: ALICE })
    await bob.post('/my/plain', { id: '#settings', theme: 'light' })
    const path = `/my/plain/${encodeURIComponent('#settings')}`
    expect((await alice.get(path)).body).toMatchObject({ theme: 'dark' })
    expect((await bob.get(path)).body).toMatchObject({ theme: 'light' })
    const stolen = encodeURIComponent(`#settings:${ALICE}`)
    expect((await bob.get(`/my/plain/${stolen}`)).status).toBe(404)
    const shared = await alice.post('/my/plain', { id: '#x', realmId: 'rlm-public' })
    expect(shared).toMatchObject({ status: 422, body: { reason: 'realmId' } })
    expect((await alice.remove(path)).status).toBe(204)
    expect((await bob.get(path)).status).toBe(200)
  })
})

describe('compound keys (rule 7)', () => {
  const path = (...parts: unknown[]) => encodeURIComponent(JSON.stringify(parts))

  test('are the URL-encoded JSON array of their parts (conformance 23)', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const stored = await alice.post('/my/pairs', { a: 'text/"ü', b: 1.5, c: true })
    expect(stored.status).toBe(200)
    expect((await alice.get(`/my/pairs/${path('text/"ü', 1.5)}`)).body).toEqual(stored.body)
    const spaced = encodeURIComponent('[ "text/\\"ü" , 15e-1 ]')
    expect((await alice.get(`/my/pairs/${spaced}`)).body).toEqual(stored.body)
    expect((await alice.get(`/my/pairs/${path('text/"ü', '1.5')}`)).status).toBe(404)
    await alice.post('/my/pairs', { a: 'text/"ü', b: 1.5, c: false })
    expect((await alice.get('/my/pairs')).body).toMatchObject([{ c: false }])
    expect((await alice.remove(`/my/pairs/${path('text/"ü', 1.5)}`)).status).toBe(204)
    expect((await alice.get('/my/pairs')).text).toBe('[]')
  })

  test('reach the built-in roles', async () => {
    await using server = await setupData()
    const role = { realmId: 'rlm-public', name: 'manager', permissions: { manage: '*' } }
    expect((await server.root.post('/public/roles', role)).status).toBe(200)
    const found = await server.anyone.get(`/public/roles/${path('rlm-public', 'manager')}`)
    expect(found.body).toMatchObject(role)
  })

  test('are refused when an address has something else', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const broken = ['x', '["a"', '["a"]', '["a",1,2]', '[1,2]', '{}', '["a",null]', '["a",[1]]']
    for (const text of [...broken, '["a",1e999]', '["a",{}]', '["",1]', '["\\u0000",1]']) {
      const answer = await alice.get(`/my/pairs/${encodeURIComponent(text)}`)
      expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
    }
  })

  test('are refused when an object has something else', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const objects = [{}, { a: 'x' }, { b: 1 }, { a: 'x', b: null }, { a: 'x', b: [1] }]
    for (const object of [...objects, { a: 'x', b: true }, { a: '', b: 1 }]) {
      expect(await alice.post('/my/pairs', object)).toMatchObject({
        status: 422,
        body: { reason: expect.stringMatching(/^[ab]$/) },
      })
    }
    expect((await alice.post('/my/pairs', { a: 1, b: 2 })).status).toBe(422)
  })
})

describe('GET and DELETE of one object', () => {
  test('tell absent and invisible apart by nothing', async () => {
    await using server = await setupData()
    const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
    await alice.post('/my/plain', { id: 'secret' })
    const strip = ({ status, text }: { status: number; text: string }) => ({
      status,
      text: text.replace(/"requestId":"[^"]+"/, ''),
    })
    for (const method of ['GET', 'DELETE']) {
      const absent = await bob.send(method, '/my/plain/nothing')
      const invisible = await bob.send(method, '/my/plain/secret')
      expect(absent.status).toBe(404)
      expect(strip(invisible)).toEqual(strip(absent))
    }
    expect(strip(await server.anyone.get('/public/plain/secret'))).toEqual(
      strip(await server.anyone.get('/public/plain/nothing')),
    )
    expect((await alice.get('/my/plain/secret')).status).toBe(200)
  })

  test('DELETE answers 204 once and 404 from then on', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    await alice.post('/my/plain', { id: 'a' })
    expect(await alice.remove('/my/plain/a')).toMatchObject({ status: 204, text: '' })
    expect((await alice.remove('/my/plain/a')).status).toBe(404)
    expect((await alice.get('/my/plain/a')).status).toBe(404)
    expect((await alice.post('/my/plain', { id: 'a', again: true })).status).toBe(200)
    expect((await alice.get('/my/plain/a')).body).toMatchObject({ again: true })
  })

  test('DELETE on /public removes public objects only, on /all any (rule 5) (conformance 30)', async () => {
    await using server = await setupData()
    const { root } = server
    await root.post('/all/plain', [
      { id: 'open', realmId: 'rlm-public' },
      { id: 'hers', realmId: ALICE },
    ])
    expect((await root.remove('/public/plain/hers')).status).toBe(404)
    expect((await root.remove('/public/plain/open')).status).toBe(204)
    expect((await root.get('/all/plain')).body).toMatchObject([{ id: 'hers' }])
    expect((await root.remove('/all/plain/hers')).status).toBe(204)
  })

  test('DELETE on /my needs the permission, not GLOBAL_WRITE (rule 6)', async () => {
    await using server = await setupData()
    const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
    const realm = await alice.post('/my/realms', { name: 'List' })
    const { realmId } = realm.body as { realmId: string }
    await alice.post('/my/plain', { id: 'a', realmId })
    const member = { realmId, userId: BOB, permissions: { update: '*' } }
    await server.root.post('/all/members', member)
    expect(await bob.remove('/my/plain/a')).toMatchObject({
      status: 403,
      body: { code: 'NOT_AUTHORIZED', reason: 'manage plain' },
    })
    expect((await bob.get('/my/plain/a')).status).toBe(200)
    expect((await alice.remove('/my/plain/a')).status).toBe(204)
  })
})
