import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { type Event, writeEvent } from '../../src/control/event'
import { type Piece, readFrames, writePiece } from '../../src/control/frames'
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

function write(sent: Event | Piece): Uint8Array {
  return 'bytes' in sent ? writePiece(sent.bytes) : writeEvent(sent)
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
      const sent = Buffer.concat(events.map(write))
      expect(joined(await read(sent, length))).toEqual(joined(events))
    }),
  )
})

test('an empty piece of a file does not hold up what follows', async () => {
  const sent = [writePiece(Buffer.alloc(0)), writeEvent({ result: 1 })]
  expect(await read(Buffer.concat(sent), 1)).toEqual([{ result: 1 }])
})
