import { expect, spyOn, test } from 'bun:test'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { until } from '../timing'
import { ALICE, BOB, type Caller, type DataServer, setupData } from './setup'

const MIB = 1024 * 1024
/** The memory of a caller has room for so many unread answers with the large object, and for three more MiB. */
const UNREAD = 4
const LARGE = { id: 'large', text: 'x'.repeat(15 * MIB), realmId: 'rlm-public' }

const REFUSED = 'Too many large answers wait for their readers: repeat the request'

/** Asks for the large object as often as the memory of the caller has room, and reads the beginnings of the answers alone. */
async function fill({ url }: DataServer, caller: Caller): Promise<AsyncDisposable> {
  const { hostname, port } = new URL(url)
  const head = `GET /main/public/plain/large HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${caller.token}\r\n\r\n`
  const sockets: Socket[] = []
  while (sockets.length < UNREAD) {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    socket.write(head)
    const [beginning] = (await once(socket, 'data')) as [Buffer]
    socket.pause()
    expect(beginning.toString('latin1')).toStartWith('HTTP/1.1 200')
    sockets.push(socket)
  }
  return {
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      // The memory of an answer is free a moment after its end.
      await until(async () => (await caller.get('/public/plain/large')).status === 200)
    },
  }
}

test('while the unread answers of a caller take all of its memory, large answers are refused, and small ones sent', async () => {
  await using server = await setupData()
  // Readers who have accepted nothing for seconds would be cut for others.
  const begun = performance.now()
  using _ = spyOn(performance, 'now').mockReturnValue(begun)
  await server.root.post('/all/plain', LARGE, { prefer: 'return=minimal' })
  const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
  const echoed = { id: 'echoed', text: 'y'.repeat(5 * MIB) }
  const refused = {
    page: () => alice.get('/public/plain'),
    object: () => alice.get('/public/plain/large'),
    echo: () => alice.post('/my/plain', echoed),
    'echo of a list': () => alice.post('/my/plain', [echoed]),
    'echo of PUT': () => alice.send('PUT', '/my/plain/echoed', { body: echoed }),
  }
  {
    await using _ = await fill(server, alice)
    for (const [what, send] of Object.entries(refused)) {
      const { status, headers, body } = await send()
      expect([what, status, headers.get('retry-after')]).toEqual([what, 503, '2'])
      expect(body).toMatchObject({ code: 'BUSY', message: REFUSED })
    }
    expect((await alice.get('/my/plain/echoed')).status).toBe(404)
    expect((await bob.get('/public/plain/large')).text).toContain(LARGE.text)
    expect((await alice.post('/my/plain', { id: 'small' })).status).toBe(200)
    const minimal = await alice.post('/my/plain', echoed, { prefer: 'return=minimal' })
    expect(minimal.status).toBe(204)
  }
  expect((await alice.post('/my/plain', echoed)).status).toBe(200)
  expect((await alice.get('/my/plain/echoed')).text).toContain(echoed.text)
})
