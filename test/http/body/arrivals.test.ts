import { describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { createDiskScratch } from '../../../src/blobs/disk/scratch'
import { SatchelError } from '../../../src/domain/value/error'
import { type Arrival, createArrivals } from '../../../src/http/body/arrivals'
import { createTestClock } from '../../auth/setup'
import { temporaryFolder } from '../../setup'

const KIB = 1024
const MIB = 1024 * KIB

function setup(options = {}) {
  const folder = temporaryFolder()
  const scratch = createDiskScratch(folder.path, createTestClock())
  const arrivals = createArrivals(options)

  /** A body of which chunks are sent one by one. */
  function begin(caller = 'alice') {
    const chunks: (Uint8Array | undefined)[] = []
    let wake = () => {}
    let isCancelled = false
    const chunksOfBody = {
      async read() {
        while (chunks.length === 0 && !isCancelled) {
          await new Promise<void>((resolve) => (wake = resolve))
        }
        if (isCancelled) throw new SatchelError('INVALID_REQUEST', 'early')
        return chunks.shift()
      },
      cancel() {
        isCancelled = true
        wake()
      },
    }
    const push = (chunk: Uint8Array | undefined) => {
      chunks.push(chunk)
      wake()
    }
    const source = { chunks: chunksOfBody, scratch, caller, timeout: undefined }
    const arrived = arrivals.receive(source)
    let isOver = false
    arrived.then(
      () => (isOver = true),
      () => (isOver = true),
    )
    return {
      /** So many bytes, in chunks of this size; resolves when they are taken, or the body is refused. */
      async send(bytes: number, size = 64 * KIB) {
        for (let at = 0; at < bytes; at += size) push(Buffer.alloc(Math.min(size, bytes - at), 'x'))
        while (chunks.length > 0 && !isOver) await Bun.sleep(1)
        await Bun.sleep(1)
      },
      push,
      end: () => {
        push(undefined)
        return arrived
      },
      breakOff: () => chunksOfBody.cancel(),
      arrived,
    }
  }

  return {
    begin,
    files: () => readdirSync(folder.path),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

async function codeOf(arrived: Promise<Arrival>): Promise<string> {
  const error: unknown = await arrived.catch((failure: unknown) => failure)
  return error instanceof SatchelError ? error.code : 'none'
}

describe('a body that arrives', () => {
  test.each([
    [10, 10, 0],
    [600 * KIB, 16 * KIB, 0],
    [3 * MIB, 1_000_003, 1],
    [5 * MIB, 12_345, 1],
    [2 * MIB, 2 * MIB, 1],
  ])('of %p bytes in chunks of %p is put together, in %p files', async (bytes, size, files) => {
    using place = setup()
    const body = place.begin()
    let sent = 0
    while (sent < bytes) {
      const chunk = Buffer.from(
        Array.from({ length: Math.min(size, bytes - sent) }, (_, n) => (sent + n) % 251),
      )
      sent += chunk.length
      body.push(chunk)
    }
    const arrival = await body.end()
    expect(arrival.size).toBe(bytes)
    expect(place.files()).toHaveLength(files)
    const taken = await arrival.take()
    expect(taken.length).toBe(bytes)
    expect(taken.every((byte, n) => byte === n % 251)).toBe(true)
    await arrival[Symbol.asyncDispose]()
    expect(place.files()).toEqual([])
  })

  test('that breaks off leaves no file', async () => {
    using place = setup()
    const body = place.begin()
    await body.send(2 * MIB)
    expect(place.files()).toHaveLength(1)
    body.breakOff()
    expect(await codeOf(body.arrived)).toBe('INVALID_REQUEST')
    expect(place.files()).toEqual([])
  })
})

describe('bodies that arrive at the same time', () => {
  test('take what has arrived, so that those begun by others keep out nobody', async () => {
    using place = setup()
    await Promise.all(Array.from({ length: 1_000 }, (_, n) => place.begin(`dripper${n}`).send(10)))
    const bodies = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const body = place.begin(`caller${n}`)
        await body.send(2 * MIB)
        return await body.end()
      }),
    )
    expect(bodies.map(({ size }) => size)).toEqual(Array<number>(20).fill(2 * MIB))
    for (const body of bodies) await body[Symbol.asyncDispose]()
  })

  test('have 64 MiB of files a caller, and a larger one if it is the only one', async () => {
    using place = setup()
    const large = place.begin()
    await large.send(80 * MIB, MIB)
    const second = place.begin()
    await second.send(2 * MIB)
    expect(await codeOf(second.arrived)).toBe('BUSY')
    const other = place.begin('bob')
    await other.send(2 * MIB)
    expect(await codeOf(other.end())).toBe('none')
    await (await large.end())[Symbol.asyncDispose]()
    const third = place.begin()
    await third.send(2 * MIB)
    expect(await codeOf(third.end())).toBe('none')
  })

  /** Bodies that leave no memory to others. Returns those that have sent the least. */
  async function fill(place: ReturnType<typeof setup>) {
    const held = Array.from({ length: 33 }, () => place.begin())
    await Promise.all(held.map((body) => body.send(MIB)))
    expect(place.files()).toEqual([])
    const small = Array.from({ length: 240 }, (_, n) => place.begin(`small${n}`))
    await Promise.all(small.map((body) => body.send(64 * KIB)))
    return small
  }

  test('use less memory each when it is short', async () => {
    using place = setup({ oldAfter: 60_000 })
    await fill(place)
    const refused = place.begin('bob')
    await refused.send(64 * KIB)
    expect(await codeOf(refused.arrived)).toBe('BUSY')
  })

  test('are cut if they are slow when no memory is left', async () => {
    using place = setup({ oldAfter: 500 })
    const small = await fill(place)
    await Bun.sleep(1_100)
    // Those that have sent the least are the slowest.
    const served = place.begin('bob')
    await served.send(3 * MIB)
    expect((await served.end()).size).toBe(3 * MIB)
    const ends = await Promise.all(
      small.map((body) => Promise.race([codeOf(body.arrived), Bun.sleep(1).then(() => 'open')])),
    )
    expect(new Set(ends)).toEqual(new Set(['TOO_SLOW', 'open']))
  })
})
