import { describe, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import type { List } from '../../../src/domain/object/list'
import { jsonArray } from '../../../src/http/body/json-stream'
import { turns, until } from '../../timing'

const wait = (milliseconds: number) => Bun.sleep(milliseconds)

/** A list of these chunks; `read` counts those that were asked for. */
function listOf(chunks: readonly (readonly string[])[], read: () => void = () => undefined): List {
  const [texts = [], ...rest] = chunks
  const more = async () => {
    await wait(0)
    read()
    return listOf(rest, read)
  }
  return { texts, more: rest.length === 0 ? undefined : more, after: undefined }
}

/** Chunks without end, of 64 KiB each. */
function endless(read: () => void): List {
  const more = async () => {
    await wait(0)
    read()
    return endless(read)
  }
  return { texts: [JSON.stringify('x'.repeat(65_536))], more, after: undefined }
}

const failed = (error: unknown) => {
  throw error
}

describe('a list as JSON', () => {
  test.each([
    [[[]], '[]'],
    [[['1', '2']], '[1,2]'],
    [[[], []], '[]'],
    [[[], ['1']], '[1]'],
    [[[], [], ['1'], [], ['2', '3'], []], '[1,2,3]'],
    [[['1'], [], [], ['2']], '[1,2]'],
  ])('of the chunks %j is %s', async (chunks, text) => {
    expect(await new Response(jsonArray(listOf(chunks), { failed })).text()).toBe(text)
  })

  test('breaks off when a chunk cannot be read, and says why to the log, not to the reader', async () => {
    const errors: unknown[] = []
    const more = () => Promise.reject(new Error('disk on fire'))
    const list: List = { texts: ['1'], more, after: undefined }
    const stream = jsonArray(list, { failed: (error) => errors.push(error) })
    using server = Bun.serve({ port: 0, development: false, fetch: () => new Response(stream) })
    const response = await fetch(server.url)
    const outcome = await response.text().catch(() => 'broken off')
    expect(outcome).toBe('broken off')
    expect(errors).toEqual([new Error('disk on fire')])
  })
})

test('a scan that finds nothing ends when its reader closes', async () => {
  let reads = 0
  const nothing = (): List => {
    const more = async () => {
      reads += 1
      await wait(0)
      return nothing()
    }
    return { texts: [], more, after: undefined }
  }
  using server = Bun.serve({
    port: 0,
    fetch: () => new Response(jsonArray(nothing(), { failed })),
  })
  const socket = connect(Number(server.url.port), server.url.hostname)
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  while (reads < 10) await wait(1)
  socket.destroy()
  expect(await restOf(() => reads)).toBeGreaterThanOrEqual(10)
})

test('a scan that finds nothing for long keeps its connection busy', async () => {
  let text = ''
  const nothing = (): List => {
    const more = async () => {
      await wait(10)
      return text.includes('\n') ? listOf([['1'], ['2']]) : nothing()
    }
    return { texts: [], more, after: undefined }
  }
  const { body } = new Response(jsonArray(nothing(), { failed, partEvery: 200 }))
  for await (const part of body!.pipeThrough(new TextDecoderStream())) text += part
  expect(text).toMatch(/^\[\n+1,2\]$/)
})

/** Answers every request with an endless list. */
function serveEndless(stall: number) {
  const state = { reads: 0, failures: 0 }
  const server = Bun.serve({
    port: 0,
    development: false,
    fetch: () =>
      new Response(
        jsonArray(
          endless(() => (state.reads += 1)),
          { stall, failed: () => (state.failures += 1) },
        ),
      ),
  })
  return { state, server, [Symbol.dispose]: () => void server.stop(true) }
}

async function request(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await new Promise((resolve) => socket.once('data', resolve))
  return socket
}

/** Waits until a number of reads does not grow for a while, and returns it. */
async function restOf(count: () => number): Promise<number> {
  for (;;) {
    const before = count()
    await wait(100)
    await turns()
    if (count() === before) return before
  }
}

describe('a reader', () => {
  test('that goes away in the middle ends the reading', async () => {
    using served = serveEndless(30_000)
    for (let round = 0; round < 10; round += 1) {
      const socket = await request(served.server.port!)
      socket.destroy()
    }
    await until(() => served.server.pendingRequests === 0)
    const reads = await restOf(() => served.state.reads)
    await wait(200)
    expect(served.state).toEqual({ reads, failures: 0 })
  })

  test('that stops taking makes the reading wait, and is cut after a while', async () => {
    using served = serveEndless(400)
    const socket = await request(served.server.port!)
    socket.pause()
    const reads = await restOf(() => served.state.reads)
    await wait(600)
    socket.resume()
    await new Promise((resolve) => socket.once('close', resolve))
    await until(() => served.server.pendingRequests === 0)
    expect(served.state).toEqual({ reads, failures: 0 })
  })

  test('that takes slowly, but takes, is not cut', async () => {
    const stall = 2_000
    using served = serveEndless(stall)
    const socket = await request(served.server.port!)
    let bytes = 0
    socket.on('data', (chunk) => (bytes += chunk.length))
    let isLong = false
    void wait(1.5 * stall).then(() => (isLong = true))
    while (!isLong || bytes <= 1024 * 1024) {
      socket.pause()
      await wait(100)
      socket.resume()
      await wait(20)
      expect(socket.destroyed).toBe(false)
    }
    socket.destroy()
  })
})

test('a stalled reader that is cut leaves no trace on standard error', async () => {
  const program = `
    import { connect } from 'node:net'
    import { jsonArray } from ${JSON.stringify(import.meta.resolve('../../../src/http/body/json-stream'))}
    const more = async () => ({ texts: ['"' + 'x'.repeat(65536) + '"'], more, after: undefined })
    const list = { texts: ['1'], more, after: undefined }
    const failed = (error) => console.error('failed', error)
    const fetch = () => new Response(jsonArray(list, { stall: 200, failed }))
    const server = Bun.serve({ port: 0, idleTimeout: 1, development: false, fetch })
    const socket = connect(server.port, '127.0.0.1', () => socket.pause())
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')
    while (server.pendingRequests === 0) await Bun.sleep(5)
    const begun = performance.now()
    while (server.pendingRequests > 0 && performance.now() - begun < 50_000) await Bun.sleep(20)
    console.log(server.pendingRequests === 0 ? 'cut' : 'still there')
    process.exit(0)
  `
  const child = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()])
  expect({ stdout, stderr }).toEqual({ stdout: 'cut\n', stderr: '' })
})
