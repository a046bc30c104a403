import { connect, type Socket } from 'node:net'
import { expect, test } from 'bun:test'
import { type Listener, openListener } from '../../src/metrics/listener'
import { setupServer } from '../setup'
import { turns, until } from '../timing'

function open(
  render: () => Promise<string>,
  failed: (error: unknown) => void = () => {},
): Listener {
  const at = { host: '127.0.0.1', port: 0, token: null, names: [] }
  return openListener({ ...at, render, failed })
}

/** Connections that ask for a scrape and read nothing of it. */
async function stall(url: string, count: number): Promise<Disposable> {
  const { port, pathname } = new URL(url)
  const sockets: Socket[] = []
  for (let each = 0; each < count; each += 1) {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {})
    socket.pause()
    socket.write(`GET ${pathname} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    sockets.push(socket)
  }
  await turns()
  return {
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
    },
  }
}

test('scrapes at the same time share one rendering, which the next ones do not', async () => {
  let rendered = 0
  const { promise, resolve } = Promise.withResolvers<string>()
  await using listener = open(async () => {
    rendered += 1
    return await promise
  })
  const scrapes = Array.from({ length: 10 }, () => fetch(listener.url))
  await until(() => rendered > 0)
  await turns()
  resolve('satchel_build_info 1\n')
  const texts = await Promise.all(scrapes.map(async (scrape) => await (await scrape).text()))
  expect(new Set(texts)).toEqual(new Set(['satchel_build_info 1\n']))
  expect(rendered).toBe(1)
  await fetch(listener.url)
  expect(rendered).toBe(2)
})

test('beyond sixteen scrapes at a time others are refused, and answered again when these have ended', async () => {
  let release = () => {}
  const held = new Promise<string>((resolve) => (release = () => resolve('x\n')))
  await using listener = open(() => held)
  const scrapes = Array.from({ length: 40 }, () => fetch(listener.url))
  const refused = await Promise.race(
    scrapes.map(async (scrape) => {
      const answer = await scrape
      return answer.status === 503 ? answer : await new Promise<never>(() => {})
    }),
  )
  expect(refused.headers.get('retry-after')).toBe('5')
  release()
  const statuses = (await Promise.all(scrapes)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0)
  expect((await fetch(listener.url)).status).toBe(200)
})

test('readers that stall keep nobody from a scrape once they are gone, nor from the server', async () => {
  await using server = await setupServer({ metrics: '127.0.0.1:0' })
  const line = server.lines.find((each) => each.includes('Metrics are served')) ?? '{}'
  const { url } = JSON.parse(line) as { url: string }
  {
    using _ = await stall(url, 300)
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    expect([200, 503]).toContain((await fetch(url)).status)
  }
  await until(async () => (await fetch(url)).status === 200)
})

test('readers that stall in a text larger than all buffers count until they are gone', async () => {
  const large = 'x'.repeat(32 * 1024 * 1024)
  await using listener = open(async () => large)
  {
    using _ = await stall(listener.url, 40)
    const answer = await fetch(listener.url)
    await answer.body?.cancel()
    expect([200, 503]).toContain(answer.status)
  }
  await until(async () => {
    const answer = await fetch(listener.url)
    await answer.body?.cancel()
    return answer.status === 200
  })
})

test('a rendering that fails is answered with 500 and reported, and the next one is another', async () => {
  const errors: unknown[] = []
  let isBroken = true
  await using listener = open(
    async () => {
      if (isBroken) throw new Error('broken')
      return 'fine\n'
    },
    (error) => errors.push(error),
  )
  expect((await fetch(listener.url)).status).toBe(500)
  expect(errors).toEqual([new Error('broken')])
  isBroken = false
  expect((await fetch(listener.url)).status).toBe(200)
})
