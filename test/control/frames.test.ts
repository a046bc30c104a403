import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { type Event, writeEvent } from '../../src/control/event'
import { createPieceWriter, type Piece, readFrames } from '../../src/control/frames'
import { collect } from '../domain/chunks'

/** The events, with the pieces of a file that follow each other as one text. */
function joined(events: readonly (Event | Piece)[]): (Event | string)[] {
  const told: ReturnType<typeof joined> = []
  for (const event of events) {
    const last = told.at(-1)
    if (!('bytes' in event)) told.push(event)
    else if (typeof last === 'string') told[told.length - 1] = last + hex(event.bytes)
    else told.push(hex(event.bytes))
  }
  return told
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** The bytes of all events: what the writer of pieces returns is good until the call after the next one. */
function sentOf(events: readonly (Event | Piece)[]): Buffer {
  const writePiece = createPieceWriter()
  const copied = events.map((sent) =>
    Buffer.from('bytes' in sent ? writePiece(sent.bytes) : writeEvent(sent)),
  )
  return Buffer.concat(copied)
}

/** The events that are read from the stream, cut to this length. */
async function read(sent: Uint8Array, length: number): Promise<(Event | Piece)[]> {
  async function* body(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < sent.length; at += length) yield sent.slice(at, at + length)
  }
  return await collect(readFrames(body()))
}

test('events arrive as they were sent, wherever the network cuts them', async () => {
  const event = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 40 }).map((bytes) => ({ bytes })),
    fc.nat().map((done) => ({ progress: { done, total: null } })),
    fc.string().map((result) => ({ result })),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(event), fc.integer({ min: 1, max: 60 }), async (events, length) => {
      expect(joined(await read(sentOf(events), length))).toEqual(joined(events))
    }),
  )
})

test('an empty piece of a file does not hold up what follows', async () => {
  const sent = sentOf([{ bytes: Buffer.alloc(0) }, { result: 1 }])
  expect(await read(sent, 1)).toEqual([{ result: 1 }])
})

test('pieces take turns in two buffers, and a larger one has its own', () => {
  const writePiece = createPieceWriter()
  const [one, two] = [writePiece(Buffer.from('one')), writePiece(Buffer.alloc(64 * 1024, 'two'))]
  expect(one.toString()).toBe('{"bytes":3}\none')
  const large = writePiece(Buffer.alloc(1_000_000, 'l'))
  expect(writePiece(Buffer.from('three')).buffer).toBe(one.buffer)
  expect(writePiece(Buffer.from('four')).buffer).toBe(two.buffer)
  expect(large.toString()).toBe(`{"bytes":1000000}\n${'l'.repeat(1_000_000)}`)
})
