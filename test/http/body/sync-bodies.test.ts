import { describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { createDiskScratch } from '../../../src/blobs/disk/scratch'
import { SatchelError } from '../../../src/domain/value/error'
import { createBodies, type JsonSource } from '../../../src/http/body/body'
import { createTestClock } from '../../auth/setup'
import { temporaryFolder } from '../../setup'
import { until } from '../../timing'

const KIB = 1024
const TIMEOUT = { silence: 100, rate: 1 }
const LIMITS = { bytes: 256 * KIB * KIB, depth: 1_000, values: 50_000_000 }

function setup() {
  const folder = temporaryFolder()
  const bodies = createBodies(LIMITS, { advice: 'import it', timeout: TIMEOUT })
  const source: JsonSource = { scratch: createDiskScratch(folder.path, createTestClock()) }
  return {
    read: <T>(sent: Request, work: (body: unknown) => Promise<T>, more: Partial<JsonSource> = {}) =>
      bodies.json({ sent, caller: 'main alice' }, { ...source, ...more }, work),
    files: () => readdirSync(folder.path),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

interface Sent {
  readonly body: BodyOf
  readonly headers?: Readonly<Record<string, string>>
}

type BodyOf = string | ReadableStream<Uint8Array>

function request({ body, headers = {} }: Sent): Request {
  const length: Record<string, string> =
    typeof body === 'string' ? { 'content-length': String(Buffer.byteLength(body)) } : {}
  return new Request('http://localhost/', {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/tson', ...length, ...headers },
  })
}

/** A body of many small objects. */
const objects = (count: number) =>
  JSON.stringify(Array.from({ length: count }, (_, at) => ({ id: `a${at}`, text: 'ü'.repeat(20) })))

function streamOf(text: string, isComplete = true): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(text)
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return isComplete ? controller.close() : undefined
      controller.enqueue(new Uint8Array(bytes.subarray(at, at + 64 * KIB)))
      at += 64 * KIB
    },
  })
}

async function refusal(reading: Promise<unknown>): Promise<string> {
  const error: unknown = await reading.then(
    () => undefined,
    (failure: unknown) => failure,
  )
  return error instanceof SatchelError ? error.code : String(error)
}

const keep = (body: unknown) => Promise.resolve(body)

describe('a body of sync', () => {
  test('that is small is read as it is', async () => {
    using place = setup()
    const sent = request({ body: '{"v":3}' })
    expect(await place.read(sent, keep)).toEqual({ v: 3 })
    expect(place.files()).toEqual([])
  })

  test('that is large comes by way of a file that is removed before the work begins', async () => {
    using place = setup()
    const text = objects(40_000)
    for (const [body, expected] of [
      [text, text],
      [streamOf(text), text],
      [streamOf('[]'), '[]'],
    ] as const) {
      const read = await place.read(request({ body }), async (value) => {
        expect(place.files()).toEqual([])
        return JSON.stringify(value)
      })
      expect(read).toBe(expected)
    }
    expect(place.files()).toEqual([])
  })

  test('waits while another one has all memory, and small ones pass', async () => {
    using place = setup()
    const order: string[] = []
    const blocked = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const first = place.read(request({ body: streamOf(objects(300_000)) }), async () => {
      order.push('first begins')
      begun.resolve()
      await blocked.promise
      order.push('first ends')
    })
    await begun.promise
    const second = place.read(request({ body: streamOf(objects(300_000)) }), async () => {
      order.push('second')
    })
    await place.read(request({ body: '[]' }), async () => {
      order.push('small')
    })
    await until(() => place.files().length === 1)
    blocked.resolve()
    await Promise.all([first, second])
    expect(order.indexOf('second')).toBeGreaterThan(order.indexOf('first ends'))
    expect(order.indexOf('small')).toBeLessThan(order.indexOf('first ends'))
  })

  test.each<[string, string, Sent]>([
    [
      'of another type',
      'UNSUPPORTED_MEDIA_TYPE',
      { body: '{}', headers: { 'content-type': 'text/plain' } },
    ],
    [
      'that is compressed',
      'UNSUPPORTED_MEDIA_TYPE',
      { body: '{}', headers: { 'content-encoding': 'gzip' } },
    ],
    [
      'of more than 256 MiB',
      'PAYLOAD_TOO_LARGE',
      { body: '{}', headers: { 'content-length': '268435457' } },
    ],
    ['that is no JSON', 'INVALID_REQUEST', { body: '{"v":' }],
    ['that ends early', 'INVALID_REQUEST', { body: '{}', headers: { 'content-length': '3' } }],
    ['that is nested a thousandfold', 'UNPROCESSABLE', { body: '['.repeat(1_001) }],
  ])('%s is refused with %s', async (_, code, sent) => {
    using place = setup()
    expect(await refusal(place.read(request(sent), keep))).toBe(code)
  })

  test('that stalls is refused, and its file removed', async () => {
    using place = setup()
    const sent = request({ body: streamOf(objects(10), false) })
    expect(await refusal(place.read(sent, keep))).toBe('TOO_SLOW')
    expect(place.files()).toEqual([])
  })

  test('that is small and stalls is refused, and a later one is read', async () => {
    using place = setup()
    const headers = { 'content-length': '100' }
    const sent = request({ body: streamOf('{"v', false), headers })
    expect(await refusal(place.read(sent, keep))).toBe('TOO_SLOW')
    expect(await place.read(request({ body: '{"v":3}' }), keep)).toEqual({ v: 3 })
  })

  test('of a caller that sends no changes is small', async () => {
    using place = setup()
    for (const body of [objects(20_000), streamOf(objects(20_000))]) {
      const reading = place.read(request({ body }), keep, { maxBytes: 256 * KIB })
      expect(await refusal(reading)).toBe('PAYLOAD_TOO_LARGE')
    }
    expect(place.files()).toEqual([])
  })

  test('leaves nothing behind when the work on it fails', async () => {
    using place = setup()
    const body = () => request({ body: streamOf(objects(40_000)) })
    const fails = place.read(body(), () => Promise.reject(new SatchelError('CONFLICT', 'no')))
    expect(await refusal(fails)).toBe('CONFLICT')
    expect(place.files()).toEqual([])
    expect(await place.read(body(), keep)).toHaveLength(40_000)
  })
})
