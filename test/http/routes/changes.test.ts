import { describe, expect, test } from 'bun:test'
import { HOUR } from '../../auth/setup'
import { until } from '../../timing'
import { realmSetHash } from '../../../src/domain/sync/realm-set'
import { PLAIN_IMPORT } from '../../setup'
import { ALICE, BOB, type Caller, type DataServer, exchange, setupData } from '../setup'

interface Message {
  readonly type: string
  readonly baseRev?: string
  readonly newRev?: string
  readonly error?: string
  readonly changes?: readonly { readonly muts: readonly { readonly keys: readonly string[] }[] }[]
}

interface SyncAnswer {
  readonly serverRevision: string
  readonly realms: readonly string[]
  readonly inviteRealms: readonly string[]
}

/** The answer to a request that changes nothing. */
async function pull(caller: Caller): Promise<SyncAnswer> {
  const table = { markedForSync: true }
  const schema = { plain: table, items: table, realms: table, members: table, roles: table }
  const answer = await caller.post('/sync', { v: 3, clientIdentity: 'one==', schema })
  expect(answer.status).toBe(200)
  return answer.body as SyncAnswer
}

interface Options {
  readonly path?: string
  readonly token?: string | undefined
  readonly origin?: string
  readonly query?: string
}

/** A socket with the messages that it received. */
async function open({ url }: DataServer, options: Options = {}) {
  const { path = '/main/changes', token, origin, query = '' } = options
  const address = new URL(url.replace('http', 'ws') + path)
  address.search = `v=3&realmsHash=old&clientId=one%3D%3D&dxcv=4.4.14${query}`
  if (token !== undefined) address.searchParams.set('token', token)
  const socket = new WebSocket(address, {
    headers: origin === undefined ? {} : { Origin: origin },
  })
  const messages: Message[] = []
  let isOpen = false
  const opened = new Promise<boolean>((resolve) => {
    socket.addEventListener('open', () => resolve((isOpen = true)))
    socket.addEventListener('close', () => {
      resolve(false)
      isOpen = false
    })
  })
  socket.addEventListener('message', ({ data }) =>
    messages.push(JSON.parse(String(data)) as Message),
  )
  await opened
  return {
    get isOpen() {
      return isOpen
    },
    messages,
    say: (message: unknown) => socket.send(JSON.stringify(message)),
    send: (frame: Uint8Array<ArrayBuffer>) => socket.send(frame),
    heard: (type: string) => until(() => messages.some((message) => message.type === type)),
    /** Says that it has what an answer brought, and waits for the changes after that. */
    async hear(answer: SyncAnswer): Promise<string[]> {
      const { serverRevision: rev, realms, inviteRealms } = answer
      const count = messages.length
      const hash = realmSetHash(realms, inviteRealms)
      socket.send(JSON.stringify({ type: 'ready', rev, realmSetHash: hash }))
      await until(() => messages.length > count)
      const { baseRev, newRev, changes } = messages[count] ?? {}
      expect(baseRev).toBe(rev)
      Object.assign(answer, { serverRevision: newRev })
      return (changes ?? []).flatMap(({ muts }) => muts.flatMap(({ keys }) => keys))
    },
    [Symbol.dispose]: () => socket.close(),
  }
}

const LONGEST_FRAME = 64 * 1024 * 1024
const PING = { type: 'ping' }

describe('a live connection', () => {
  test('is open to anonymous clients and to users (conformance 2, 104, 105, 106)', async () => {
    await using server = await setupData()
    const { token } = await server.as(ALICE)
    using anonymous = await open(server)
    using alice = await open(server, { token, query: '&rev=%5B%22x%22%5D&yrev=' })
    using second = await open(server, { token, path: '//main//changes' })
    for (const socket of [anonymous, alice, second]) {
      expect(socket.isOpen).toBe(true)
      socket.say(PING)
      await socket.heard('pong')
    }
    await until(() => server.lines.filter((line) => line.includes('/main/changes')).length === 3)
    const lines = server.lines.filter((line) => line.includes('/main/changes'))
    expect(lines.join('\n')).not.toContain(token ?? 'no token')
    expect(lines.map((line) => /"status":(\d+)/.exec(line)?.[1])).toEqual(['101', '101', '101'])
  })

  test('is answered when it is ready', async () => {
    await using server = await setupData()
    using socket = await open(server)
    socket.say({ type: 'ready', rev: '["unknown","1"]', realmSetHash: '' })
    await socket.heard('realms-changed')
    expect(socket.messages).toHaveLength(1)
  })

  test.each([[[]], [['GLOBAL_READ', 'GLOBAL_WRITE', 'MANAGE_DB']]])(
    'is refused to a token with the scopes %j, as a sync is',
    async (scopes) => {
      await using server = await setupData()
      const { token } = await server.as(ALICE, scopes)
      using socket = await open(server, { token })
      expect(socket.isOpen).toBe(false)
      const { status, body } = await server.anyone.get(`/changes?token=${token}`)
      expect({ status, body }).toMatchObject({
        status: 403,
        body: { code: 'NOT_AUTHORIZED', reason: 'scope ACCESS_DB' },
      })
      await until(() => server.lines.some((line) => line.includes('NOT_AUTHORIZED')))
    },
  )

  test('needs an origin that the database lists (conformance 114)', async () => {
    await using server = await setupData()
    using refused = await open(server, { origin: 'https://app.example.com' })
    expect(refused.isOpen).toBe(false)
    await server.commands.run('origin.add', {
      database: 'main',
      origin: 'https://app.example.com',
      force: false,
    })
    using accepted = await open(server, { origin: 'https://app.example.com' })
    expect(accepted.isOpen).toBe(true)
  })

  test('of a page hears nothing more from the moment its origin is removed (promise 15)', async () => {
    await using server = await setupData({ publicUrl: 'https://data.example.com' })
    const alice = await server.as(ALICE)
    const listed = ['https://app.example.com', 'https://other.example.com', 'app://my.app']
    const change = (operation: 'origin.add' | 'origin.remove', origin: string) =>
      server.commands.run(operation, { database: 'main', origin, force: false })
    for (const origin of listed) await change('origin.add', origin)
    await server.commands.run('db.address', {
      database: 'main',
      url: 'https://todo.example.com',
      reset: false,
    })
    const { token } = alice
    using app = await open(server, { token, origin: listed[0]! })
    using anonymous = await open(server, { origin: listed[0]! })
    using other = await open(server, { token, origin: listed[1]! })
    using packaged = await open(server, { token, origin: listed[2]! })
    using address = await open(server, { token, origin: 'https://todo.example.com' })
    using program = await open(server, { token })
    const state = await pull(alice)
    const write = async (id: string) => {
      const { status } = await alice.post('/my/plain', { id })
      expect(status).toBe(200)
    }
    await write('before')
    for (const socket of [app, other, packaged, address, program]) {
      expect(await socket.hear({ ...state })).toEqual(['before'])
    }
    await change('origin.remove', listed[0]!)
    for (const socket of [app, anonymous]) {
      await socket.heard('error')
      expect(socket.messages.at(-1)).toEqual({
        type: 'error',
        error: expect.stringContaining('satchel origin add'),
      })
    }
    await change('origin.remove', listed[2]!)
    await packaged.heard('error')
    await server.commands.run('db.address', { database: 'main', url: null, reset: true })
    await address.heard('error')
    const next = await pull(alice)
    const silent = [app, anonymous, packaged, address]
    const before = silent.map(({ messages }) => messages.length)
    await write('after')
    for (const socket of [other, program]) expect(await socket.hear({ ...next })).toEqual(['after'])
    expect(silent.map(({ messages }) => messages.length)).toEqual(before)
    expect(silent.every(({ isOpen }) => isOpen)).toBe(true)
    // What it says is not answered either.
    app.say({ type: 'ready', rev: next.serverRevision, realmSetHash: 'x' })
    app.say(PING)
    await app.heard('pong')
    expect(app.messages.length).toBe(before[0]! + 1)
  })

  test('is refused with a reason where there is none to be had', async () => {
    await using server = await setupData()
    const plain = await server.anyone.get('/changes')
    expect(plain).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
    const long = await server.anyone.get(`/changes?clientId=${'x'.repeat(101)}`)
    expect(long).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
    expect((await server.anyone.post('/changes', {})).status).toBe(405)
    using unknown = await open(server, { path: '/other/changes' })
    expect(unknown.isOpen).toBe(false)
    const half = 'GET /main/changes HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n'
    const { statuses } = await exchange(server.url, half)
    expect(statuses).toEqual([400])
  })

  test('ends neither with a long message nor with a strange one', async () => {
    await using server = await setupData()
    using socket = await open(server)
    for (const text of [null, 'x', { type: 'ready' }, 'x'.repeat(100_000)]) socket.say(text)
    socket.say(PING)
    await socket.heard('pong')
    expect(socket.messages).toEqual([{ type: 'pong' }])
  })

  test('takes a frame of 64 MiB, and is refused for a minute after a larger one', async () => {
    await using server = await setupData()
    const { token } = await server.as(ALICE)
    using socket = await open(server, { token })
    socket.send(new Uint8Array(LONGEST_FRAME))
    socket.say('x'.repeat(LONGEST_FRAME - 2))
    socket.say(PING)
    await socket.heard('pong')
    socket.send(new Uint8Array(LONGEST_FRAME + 1))
    await until(() => !socket.isOpen)
    using again = await open(server, { token })
    expect(again.isOpen).toBe(false)
    const refused = await server.anyone.get(`/changes?clientId=one%3D%3D&token=${token}`)
    expect(refused).toMatchObject({ status: 429, body: { code: 'TOO_MANY_REQUESTS' } })
    expect(refused.headers.get('retry-after')).toMatch(/^(?:60|[1-5]?\d)$/)
    using other = await open(server, { token, query: '&clientId=two' })
    expect(other.isOpen).toBe(false)
    using bob = await open(server, { token: (await server.as(BOB)).token })
    expect(bob.isOpen).toBe(true)
  })

  test("that floods an anonymous client's socket is cut off, and its user's is not", async () => {
    await using server = await setupData()
    const { token } = await server.as(ALICE)
    using alice = await open(server, { token })
    using anonymous = await open(server)
    for (let n = 0; n < 2_000; n += 1) {
      alice.say(PING)
      if (anonymous.isOpen) anonymous.say('junk')
    }
    await until(() => !anonymous.isOpen)
    const again = await server.anyone.get('/changes')
    expect(again).toMatchObject({ status: 429, body: { code: 'TOO_MANY_REQUESTS' } })
    server.clock.advance(60_000)
    await alice.heard('realms-changed')
    expect(alice.isOpen).toBe(true)
    expect(alice.messages.length).toBeLessThan(100)
  })

  test('ends with the server, which does not wait for it', async () => {
    await using server = await setupData()
    using socket = await open(server)
    await server.stop()
    await until(() => !socket.isOpen)
    expect(server.lines.join('\n')).not.toContain('were aborted')
  })
})

describe('changes', () => {
  test('by whatever means reach the sockets (conformance 31)', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    using socket = await open(server, { token: alice.token })
    await alice.post('/my/plain', { id: 'first' })
    const state = await pull(alice)
    const hear = async (work: () => Promise<unknown>) => {
      const [keys] = await Promise.all([socket.hear(state), work()])
      return keys
    }
    expect(await hear(() => alice.post('/my/plain', { id: 'a' }))).toEqual(['a'])
    expect(await hear(() => alice.remove('/my/plain/a'))).toEqual(['a'])
    const data = { [ALICE]: { plain: { imported: { text: 'x' } } } }
    const upload = () => new Blob([JSON.stringify({ data })]).stream()
    const imported = await hear(() =>
      server.commands.run('import', PLAIN_IMPORT, { upload: upload() }),
    )
    expect(imported).toEqual(['imported'])
    const clear = () => server.root.post('/clear-table', { table: 'plain' })
    expect(await hear(clear)).toEqual(['first', 'imported'])
    await server.root.post('/all/members', { id: 'mA', realmId: 'rlm-public', userId: ALICE })
    expect(await socket.hear(state)).toEqual(['mA'])
  })
})

describe('a token', () => {
  test('that is not valid is answered on the open socket (conformance 113)', async () => {
    await using server = await setupData()
    for (const token of ['', 'nonsense']) {
      using socket = await open(server, { token })
      await socket.heard('token-expired')
      socket.say({ type: 'ready', rev: '["unknown","1"]', realmSetHash: '' })
      socket.say(PING)
      await socket.heard('pong')
      expect(socket.messages).toEqual([{ type: 'token-expired' }, { type: 'pong' }])
      expect(socket.isOpen).toBe(true)
    }
  })

  test('may be wrong only so often', async () => {
    await using server = await setupData({ rateLimits: 'failures=2/1m' })
    const opened: boolean[] = []
    for (let count = 0; count < 3; count += 1) {
      using socket = await open(server, { token: 'nonsense' })
      opened.push(socket.isOpen)
    }
    expect(opened).toEqual([true, true, false])
  })

  test('that expires is answered within a second', async () => {
    await using server = await setupData()
    const { token } = await server.as(ALICE)
    using socket = await open(server, { token })
    server.clock.advance(HOUR)
    await socket.heard('token-expired')
    expect(socket.isOpen).toBe(true)
  })

  test('ends with its user and with its client, and no other', async () => {
    await using server = await setupData()
    const { token } = await server.as(ALICE)
    const client = (await server.commands.run('client.create', {
      database: 'main',
      scopes: ['ACCESS_DB', 'IMPERSONATE'],
    })) as { clientId: string; clientSecret: string }
    const answer = await server.anyone.post('/token', {
      grant_type: 'client_credentials',
      client_id: client.clientId,
      client_secret: client.clientSecret,
      scopes: ['ACCESS_DB'],
      claims: { sub: ALICE, email: ALICE, name: ALICE },
    })
    const { accessToken } = answer.body as { accessToken: string }
    using first = await open(server, { token })
    using second = await open(server, { token: accessToken })
    await server.commands.run('client.revoke', { database: 'main', id: client.clientId })
    await second.heard('token-expired')
    expect(first.messages).toEqual([])
    await server.root.post('/users', [{ userId: ALICE, deactivated: true }])
    await first.heard('token-expired')
    expect([first.isOpen, second.isOpen]).toEqual([true, true])
    using third = await open(server, { token: (await server.as('bob@example.com')).token })
    await server.root.remove('/users/bob@example.com')
    await third.heard('token-expired')
    expect(third.isOpen).toBe(true)
  })

  test('ends with its database', async () => {
    await using server = await setupData()
    const { token } = await server.as(ALICE)
    using socket = await open(server, { token })
    socket.say({ type: 'ready', rev: '["unknown","1"]', realmSetHash: '' })
    await socket.heard('realms-changed')
    await server.commands.run('db.delete', { database: 'main', hard: true })
    await socket.heard('error')
    expect(socket.isOpen).toBe(true)
  })
})
