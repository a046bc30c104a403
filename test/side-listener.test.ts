import { expect, test } from 'bun:test'
import { connect } from 'node:net'
import { listenBeside } from '../src/side-listener'

/** Everything that is answered to this text, until the connection is closed. */
function exchange(port: number, text: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let answered = ''
  const socket = connect(port, '127.0.0.1', () => socket.write(text))
  socket.on('data', (bytes) => (answered += String(bytes)))
  socket.on('error', () => resolve(answered))
  socket.on('close', () => resolve(answered))
  return promise
}

const asked: string[] = []

function setup() {
  asked.length = 0
  return listenBeside({
    host: '127.0.0.1',
    port: 0,
    answer({ url }) {
      asked.push(url)
      if (url.endsWith('/broken')) throw new Error('This is broken')
      return new Response('here')
    },
  })
}

test.each(['[', 'a b', '%', 'x:99999', 'x@[', 'x/y?'])(
  'an address with the host %p is refused, without a word about the sources',
  async (host) => {
    await using listener = setup()
    const head = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`
    const answer = await exchange(listener.port, head)
    expect(answer).toStartWith('HTTP/1.1 400')
    expect(answer).toEndWith('\r\n\r\n')
    expect(asked).toEqual([])
  },
)

test('a request that fails ends no other one', async () => {
  await using listener = setup()
  const url = `http://127.0.0.1:${listener.port}`
  expect((await fetch(`${url}/broken`)).status).toBe(500)
  expect(await (await fetch(url)).text()).toBe('here')
})

test('a request with a body is refused before it is sent', async () => {
  await using listener = setup()
  const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n'
  expect(await exchange(listener.port, head)).toStartWith('HTTP/1.1 413')
  expect(asked).toEqual([])
})
