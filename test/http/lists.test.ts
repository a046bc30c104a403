import { describe, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { ALICE, type Answer, type Caller, objectsOf, setupData } from './setup'
import { share } from '../setup'

const range = (length: number) => Array.from({ length }, (_, n) => n)
const ns = (answer: Answer) => objectsOf(answer).map(({ n }) => n)
const MINIMAL = { prefer: 'return=minimal' }

describe('a list', () => {
  test('is in order of creation, replaced objects in their old place', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const ids = ['z', 'a', 'm', 'B', '9']
    for (const id of ids) await alice.post('/my/plain', { id })
    await alice.post('/my/plain', { id: 'a', again: true })
    await alice.remove('/my/plain/m')
    await alice.post('/my/plain', { id: 'm' })
    const listed = objectsOf(await alice.get('/my/plain')).map(({ id }) => id)
    expect(listed).toEqual(['z', 'a', 'B', '9', 'm'])
    expect((await server.root.get('/all/plain')).body).toBeArrayOfSize(5)
    expect((await server.anyone.get('/public/plain')).text).toBe('[]')
  })

  test('of a table that is not declared is 404 and says how to declare it', async () => {
    await using server = await setupData()
    const answer = await server.root.get('/all/nothing')
    expect(answer).toMatchObject({ status: 404, body: { code: 'UNKNOWN_TABLE' } })
    expect(answer.text).toContain('satchel schema push')
    await server.push({ plain: null })
    expect((await server.root.get('/all/plain')).status).toBe(404)
    for (const table of ['realms', 'members', 'roles']) {
      expect((await server.root.get(`/all/${table}`)).status).toBe(200)
    }
  })
})

describe('filters', () => {
  const OBJECTS = [
    { n: 0, country: 'SE', done: true, at: { $t: 'Date', v: '2024-05-01T10:00:00.000Z' } },
    { n: 1, country: 'NO', done: false, tags: ['a', 'b', 1], inner: { deep: { x: 'y' } } },
    { n: 2, country: 'SE', done: null, tags: ['b'], 'a b': 'c&d=e', small: 1.5e-7 },
    { n: 3, done: 'true', tags: 'a', 'inner.deep': 'flat', $$x: 'dollar' },
    { n: 4, country: '', inner: { deep: null }, text: '%_*"\'\\', neg: -0.5 },
  ]

  async function filled() {
    const server = await setupData()
    await server.root.post('/public/items', OBJECTS)
    return server
  }

  const shared = share(filled)

  test.each([
    ['country=SE', [0, 2]],
    ['country=SE&country=NO', [0, 1, 2]],
    ['country=SE&n=2', [2]],
    ['country=SE&n=1', []],
    ['country=', [4]],
    ['country', [4]],
    ['country=se', []],
    ['n=2', [2]],
    ['n=2.0', []],
    ['neg=-0.5', [4]],
    ['small=1.5e-7', [2]],
    ['done=true', [0, 3]],
    ['done=false', [1]],
    ['done=null', [2]],
    ['missing=null', []],
    ['missing=', []],
    ['missing=undefined', []],
    ['at=2024-05-01T10:00:00.000Z', [0]],
    ['at=2024-05-01', []],
    ['at.v=2024-05-01T10:00:00.000Z', []],
    ['tags=a', [1, 3]],
    ['tags=b', [1, 2]],
    ['tags=1', [1]],
    ['tags=a&tags=b', [1, 2, 3]],
    ['inner.deep.x=y', [1]],
    ['inner.deep=flat', [3]],
    ['inner.deep=null', [4]],
    ['a+b=c%26d%3De', [2]],
    ['a%20b=c%26d=e', [2]],
    ['%24%24x=dollar', [3]],
    ['$$x=dollar', [3]],
    [`text=${encodeURIComponent('%_*"\'\\')}`, [4]],
    ['text=%25', []],
    ['realmId=rlm-public&country=NO', [1]],
    ['realmId=rlm-public', [0, 1, 2, 3, 4]],
    ['realmId=rlm-none', []],
    ['realmId=', []],
    ['&&n=0&', [0]],
    ['__proto__=x', []],
    ['constructor=x', []],
    ['length=5', []],
  ])('?%s', async (query, expected) => {
    const server = shared()
    expect(ns(await server.anyone.get(`/public/items?${query}`))).toEqual(expected)
    expect(ns(await server.root.get(`/all/items?${query}`))).toEqual(expected)
  })

  test('never show more than the view does (conformance 22)', async () => {
    await using server = await filled()
    const alice = await server.as(ALICE)
    await alice.post('/my/items', { n: 9, country: 'SE' })
    expect(ns(await server.anyone.get('/public/items?country=SE'))).toEqual([0, 2])
    expect(ns(await server.anyone.get(`/public/items?realmId=${ALICE}`))).toEqual([])
    expect(ns(await alice.get(`/my/items?realmId=${ALICE}`))).toEqual([9])
    expect(ns(await alice.get('/my/items?country=SE'))).toEqual([0, 2, 9])
    expect(ns(await server.root.get(`/all/items?realmId=${ALICE}&realmId=rlm-public`))).toEqual([
      0, 1, 2, 3, 4, 9,
    ])
    const bob = await server.as('bob@example.com')
    expect(ns(await bob.get(`/my/items?realmId=${ALICE}`))).toEqual([])
  })

  test.each(['%', '%zz', 'n=%', 'n=%ff', '%ed%a0%80=1', '$limit=%c0%80'])(
    'malformed ones are 400: ?%s',
    async (query) => {
      const answer = await shared().anyone.get(`/public/items?${query}`)
      expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
    },
  )

  test('find the first match however far back it is', async () => {
    await using server = await setupData()
    await server.root.post(
      '/public/plain',
      range(2500).map((n) => ({ id: String(n), n, x: n >= 2200 ? 'late' : 'early' })),
    )
    expect(ns(await server.anyone.get('/public/plain?x=late'))).toEqual(
      range(300).map((n) => n + 2200),
    )
    expect((await server.anyone.get('/public/plain?x=never')).text).toBe('[]')
    expect(ns(await server.anyone.get('/public/plain?n=999&n=1000&n=2499'))).toEqual([
      999, 1000, 2499,
    ])
  })
})

describe('pages', () => {
  /** Follows `rel="next"` as RFC 8288 says, from an address to the end. */
  async function follow(server: { main: string }, first: string, limit = 1000) {
    const pages: unknown[][] = []
    let next: string | undefined = server.main + first
    while (next !== undefined && pages.length < limit) {
      const url: string = next
      const response: Response = await fetch(url)
      if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
      pages.push((await response.json()) as unknown[])
      const link: string | null = response.headers.get('link')
      const target = link === null ? undefined : /^<([^>]*)>; rel="next"$/.exec(link)?.[1]
      if (link !== null && target === undefined) throw new Error(`a strange link: ${link}`)
      next = target === undefined ? undefined : new URL(target, url).href
    }
    return pages
  }

  const numbers = (pages: unknown[][]) => pages.flat().map((object) => (object as { n: number }).n)

  test('lead through the whole list, each object once', async () => {
    await using server = await setupData()
    await server.root.post(
      '/public/items',
      range(25).map((n) => ({ n, even: n % 2 === 0 })),
    )
    for (const size of [1, 7, 24, 25, 26, 10_000]) {
      const pages = await follow(server, `/public/items?$limit=${size}`)
      expect(numbers(pages)).toEqual(range(25))
      expect(pages.length).toBe(Math.ceil(25 / size))
    }
    const even = await follow(server, '/public/items?%24limit=5&even=true&')
    expect(even.map((page) => page.length)).toEqual([5, 5, 3])
    expect(numbers(even)).toEqual(range(13).map((n) => n * 2))
  })

  test('keep the filter in the link, for any characters', async () => {
    await using server = await setupData()
    const value = 'a b+c&d=e"<>;,%/ü😀'
    const name = 'x<>"&='
    await server.root.post(
      '/public/items',
      range(3).map((n) => ({ n, [name]: value })),
    )
    const encoded = `${encodeURIComponent(name)}=${encodeURIComponent(value)}`
    for (const query of [encoded, encoded.replaceAll('%22', '"').replaceAll('%3E', '>')]) {
      const pages = await follow(server, `/public/items?${query}&$limit=1`)
      expect(numbers(pages)).toEqual([0, 1, 2])
    }
    const disguised = '/public/items?%24%6cimit=1&%24%61fter=s0'
    expect(numbers(await follow(server, disguised))).toEqual([0, 1, 2])
  })

  test('go on after objects that came and went meanwhile', async () => {
    await using server = await setupData()
    await server.root.post(
      '/public/plain',
      range(6).map((n) => ({ id: String(n), n })),
    )
    const first = await server.anyone.get('/public/plain?$limit=3')
    const link = /<([^>]+)>/.exec(first.headers.get('link') ?? '')?.[1]
    await server.root.remove('/public/plain/2')
    await server.root.remove('/public/plain/3')
    await server.root.post('/public/plain', { id: '6', n: 6 })
    expect(ns(await server.anyone.get(`/public/plain${link}`))).toEqual([4, 5, 6])
  })

  test('of one view lead nowhere else', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const bob = await server.as('bob@example.com')
    await alice.post('/my/items', [{ n: 0 }, { n: 1 }, { n: 2 }])
    const answer = await alice.get('/my/items?$limit=2')
    expect(ns(answer)).toEqual([0, 1])
    const link = /<([^>]+)>/.exec(answer.headers.get('link') ?? '')?.[1]
    expect(ns(await alice.get(`/my/items${link}`))).toEqual([2])
    expect(ns(await bob.get(`/my/items${link}`))).toEqual([])
    expect((await bob.get('/my/items?$limit=2')).headers.get('link')).toBeNull()
  })

  test.each([
    '$limit=0',
    '$limit=',
    '$limit',
    '$limit=-1',
    '$limit=1.5',
    '$limit=10001',
    '$limit=1e3',
    '$limit=99999999999999999999',
    '$limit=1&$limit=2',
    '$after=',
    '$after=x',
    '$after=s',
    '$after=S1',
    '$after=szzzzzzzzzzzzz',
    '$after=s1&$after=s2',
    '$offset=1',
    '$',
    '$where=1',
    '%24sort=n',
  ])('refuse ?%s', async (query) => {
    await using server = await setupData()
    const answer = await server.anyone.get(`/public/items?${query}`)
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
  })

  test('stay small when the objects are large', async () => {
    await using server = await setupData()
    const text = 'x'.repeat(1_000_000)
    for (const n of range(20)) await server.root.post('/public/items', { n, text }, MINIMAL)
    const pages = await follow(server, '/public/items?$limit=20')
    expect(pages.length).toBe(2)
    expect(numbers(pages)).toEqual(range(20))
  })
})

describe('a long list', () => {
  const COUNT = 12_000

  async function fill(root: Caller, table: string) {
    for (const part of range(3)) {
      const objects = range(COUNT / 3).map((n) => ({ id: `k${part * (COUNT / 3) + n}`, v: 0 }))
      await root.post(`/public/${table}`, objects, MINIMAL)
    }
  }

  test('streams every object once, in order, in its current version', async () => {
    await using server = await setupData()
    await fill(server.root, 'plain')
    const response = await fetch(`${server.main}/public/plain`)
    expect(response.headers.get('content-length')).toBeNull()
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = (await reader.read()).value ?? ''
    await server.root.post('/public/plain', { id: 'k11999', v: 1 })
    await server.root.post('/public/plain', { id: 'k0', v: 1 })
    await server.root.remove('/public/plain/k11998')
    await server.root.post('/public/plain', { id: 'new', v: 1 })
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value
    const objects = JSON.parse(text) as { id: string; v: number }[]
    const throughout = objects.filter(({ id }) => id !== 'new' && id !== 'k11998')
    expect(throughout.map(({ id }) => id)).toEqual(
      range(COUNT)
        .filter((n) => n !== 11_998)
        .map((n) => `k${n}`),
    )
    expect(new Set(objects.map(({ id }) => id)).size).toBe(objects.length)
    expect(throughout.at(-1)).toMatchObject({ id: 'k11999' })
    const again = objectsOf(await server.anyone.get('/public/plain'))
    expect(again.length).toBe(COUNT)
    expect(again.filter(({ v }) => v === 1).map(({ id }) => id)).toEqual(['k0', 'k11999', 'new'])
  })

  test('is one list on every view, and stops showing what its reader may not see any more', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const realm = await server.root.post('/all/realms', { name: 'Shared' })
    const { realmId } = realm.body as { realmId: string }
    const member = await server.root.post('/all/members', { realmId, userId: ALICE })
    const { id } = member.body as { id: string }
    // More than the network holds for a reader who takes nothing.
    const text = 'x'.repeat(4_000)
    for (const part of [0, 1]) {
      const objects = range(2_000).map((n) => ({ id: `k${part}-${n}`, realmId, text }))
      await server.root.post('/all/plain', objects, MINIMAL)
    }
    expect(objectsOf(await alice.get('/my/plain')).length).toBe(4_000)
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname)
    const parts: Buffer[] = []
    socket.on('data', (part) => parts.push(part))
    const closed = new Promise((resolve) => socket.once('close', resolve))
    const lines = ['Host: x', 'Connection: close', `Authorization: Bearer ${alice.token}`]
    socket.write(['GET /main/my/plain HTTP/1.1', ...lines, '', ''].join('\r\n'))
    await new Promise((resolve) => socket.once('data', resolve))
    socket.pause()
    expect((await server.root.remove(`/all/members/${id}`)).status).toBe(204)
    socket.resume()
    await closed
    const answer = Buffer.concat(parts).toString()
    const list = answer.slice(answer.indexOf('\r\n\r\n') + 2).replace(/\r\n[\da-f]+\r\n/g, '')
    expect((JSON.parse(list) as unknown[]).length).toBeLessThan(4_000)
    expect((await alice.get('/my/plain')).text).toBe('[]')
  })

  test('is forgotten when its reader goes away in the middle', async () => {
    await using server = await setupData()
    await fill(server.root, 'plain')
    for (let round = 0; round < 20; round += 1) {
      const abort = new AbortController()
      const response = await fetch(`${server.main}/public/plain`, { signal: abort.signal })
      await response.body?.getReader().read()
      abort.abort()
    }
    await server.stop()
    // A list that was still in flight would have been cut off, with a warning.
    expect(server.lines.filter((line) => /"level":"(?:error|warning)"/.test(line))).toEqual([])
  })

  test('answers HEAD like GET, without reading the list', async () => {
    await using server = await setupData()
    await fill(server.root, 'plain')
    for (const path of ['/public/plain', '/public/plain?v=0', '/public/plain/k1']) {
      const get = await server.anyone.send('GET', path)
      const head = await server.anyone.send('HEAD', path)
      expect(head).toMatchObject({ status: 200, text: '' })
      const length = head.headers.get('content-length')
      expect([null, String(Buffer.byteLength(get.text))]).toContain(length)
      expect(length).toBe(get.headers.get('content-length'))
    }
  })
})
