import { describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { createDiskScratch } from '../../../src/blobs/disk/scratch'
import { SatchelError } from '../../../src/domain/value/error'
import { createSpooledBodies } from '../../../src/http/body/spooled'
import { createTestClock } from '../../auth/setup'
import { temporaryFolder } from '../../setup'

const KIB = 1024
const TIMEOUT = { silence: 100, rate: 1 }

function setup() {
  const folder = temporaryFolder()
  return {
    bodies: createSpooledBodies(TIMEOUT),
    source: { scratch: createDiskScratch(folder.path, createTestClock()), mayBeLarge: true },
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
    expect(await place.bodies.json(sent, place.source, keep)).toEqual({ v: 3 })
    expect(place.files()).toEqual([])
  })

  test('that is large, or of unknown length, comes by way of a file that is removed', async () => {
    using place = setup()
    const text = objects(20_000)
    for (const [body, expected] of [
      [text, text],
      [streamOf(text), text],
      [streamOf('[]'), '[]'],
    ] as const) {
      let files = 0
      const read = await place.bodies.json(request({ body }), place.source, async (value) => {
        files = place.files().length
        return JSON.stringify(value)
      })
      expect(read).toBe(expected)
      expect(files).toBe(1)
    }
    expect(place.files()).toEqual([])
  })

  test('waits while another large one is worked on, and small ones pass', async () => {
    using place = setup()
    const order: string[] = []
    const blocked = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const first = place.bodies.json(
      request({ body: streamOf(objects(2)) }),
      place.source,
      async () => {
        order.push('first begins')
        begun.resolve()
        await blocked.promise
        order.push('first ends')
      },
    )
    await begun.promise
    const second = place.bodies.json(
      request({ body: streamOf(objects(3)) }),
      place.source,
      async () => {
        order.push('second')
      },
    )
    await place.bodies.json(request({ body: '[]' }), place.source, async () => {
      order.push('small')
    })
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
    expect(await refusal(place.bodies.json(request(sent), place.source, keep))).toBe(code)
  })

  test('that stalls is refused, and its file removed', async () => {
    using place = setup()
    const sent = request({ body: streamOf(objects(10), false) })
    expect(await refusal(place.bodies.json(sent, place.source, keep))).toBe('TOO_SLOW')
    expect(place.files()).toEqual([])
  })

  test('of a caller that sends no changes is small', async () => {
    using place = setup()
    const source = { ...place.source, mayBeLarge: false }
    for (const body of [objects(20_000), streamOf(objects(20_000))]) {
      expect(await refusal(place.bodies.json(request({ body }), source, keep))).toBe(
        'PAYLOAD_TOO_LARGE',
      )
    }
    expect(place.files()).toEqual([])
  })

  test('leaves nothing behind when the work on it fails', async () => {
    using place = setup()
    const fails = place.bodies.json(request({ body: streamOf('[1]') }), place.source, () =>
      Promise.reject(new SatchelError('CONFLICT', 'no')),
    )
    expect(await refusal(fails)).toBe('CONFLICT')
    expect(place.files()).toEqual([])
    expect(await place.bodies.json(request({ body: streamOf('[1]') }), place.source, keep)).toEqual(
      [1],
    )
  })
})
