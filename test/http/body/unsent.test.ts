import { describe, expect, test } from 'bun:test'
import { SatchelError } from '../../../src/domain/value/error'
import { createUnsent, type Unsent } from '../../../src/http/body/unsent'

const MIB = 1024 * 1024
const LARGE = 'x'.repeat(16 * MIB)

/** Readers who accept nothing keep their memory, however slow the machine is. */
const createPatient = () => createUnsent({ stalledMs: Number.POSITIVE_INFINITY })

function openRoom(unsent: Unsent, { caller = 'alice', pending = 1 } = {}) {
  const reasons: (string | undefined)[] = []
  const reservation = unsent.open({
    caller: () => caller,
    pending: () => pending,
    ended: (reason) => void reasons.push(reason),
  })
  return { reservation, reasons }
}

const codeOf = (work: () => unknown) => {
  try {
    work()
    return 'done'
  } catch (error) {
    return error instanceof SatchelError ? error.code : error
  }
}

describe('the memory of unsent answers', () => {
  test('of one caller is limited, and another is served meanwhile', () => {
    const unsent = createPatient()
    const send = (caller: string) =>
      codeOf(() => openRoom(unsent, { caller }).reservation.bodyOf(LARGE, false))
    const four = ['done', 'done', 'done', 'done']
    expect([1, 2, 3, 4, 5].map(() => send('alice'))).toEqual([...four, 'BUSY'])
    expect([1, 2].map(() => send('bob'))).toEqual(['done', 'BUSY'])
    expect(send('carol')).toBe('BUSY')
    expect(unsent.reserved).toBe(5 * LARGE.length)
  })

  test('is free when the answer was read, cancelled or never begun', async () => {
    const unsent = createUnsent()
    const text = 'ä'.repeat(MIB)
    const whole = openRoom(unsent)
    const read = new Response(whole.reservation.bodyOf(text, false))
    expect(unsent.reserved).toBe(2 * MIB)
    expect(await read.text()).toBe(text)
    expect(whole.reasons).toEqual([undefined])
    const left = openRoom(unsent)
    const stream = new Response(left.reservation.bodyOf(text, false)).body!
    await stream.getReader().cancel()
    expect(left.reasons).toEqual(['the reader disconnected'])
    const { reservation } = openRoom(unsent)
    reservation.reserve(MIB)
    expect(unsent.reserved).toBe(MIB)
    expect(reservation.settle()).toBe(false)
    expect(unsent.reserved).toBe(0)
  })

  test('is not counted for small answers, unless very many requests are pending', () => {
    const unsent = createUnsent()
    const typeOf = (size: number, pending: number) =>
      typeof openRoom(unsent, { pending }).reservation.bodyOf('x'.repeat(size), false)
    expect(typeOf(16 * 1024, 100_000)).toBe('string')
    expect(typeOf(200_000, 10)).toBe('string')
    expect(unsent.reserved).toBe(0)
    expect(typeOf(200_000, 1_000)).toBe('object')
    expect(unsent.reserved).toBe(200_000)
  })

  test('of an answer that nobody accepts is given to another, and that is logged', async () => {
    const fill = (stalledMs: number) => {
      const unsent = createUnsent({ stalledMs })
      const rooms = [1, 2, 3, 4].map(() => openRoom(unsent))
      for (const { reservation } of rooms) reservation.bodyOf(LARGE, false)
      return { unsent, rooms }
    }
    const { unsent: patient } = fill(Number.POSITIVE_INFINITY)
    expect(codeOf(() => openRoom(patient).reservation.bodyOf(LARGE, false))).toBe('BUSY')
    const { unsent, rooms: stalled } = fill(1_500)
    await Bun.sleep(1_600)
    expect(codeOf(() => openRoom(unsent).reservation.bodyOf(LARGE, false))).toBe('done')
    expect(stalled.map(({ reasons }) => reasons)).toEqual([
      ['others needed its memory'],
      [],
      [],
      [],
    ])
    expect(unsent.reserved).toBe(4 * LARGE.length)
  })

  test('is no matter of turns: a stream yields only when nothing is taken of it for long', () => {
    const yields = (yieldsAfterMs: number, isWaiting: boolean) => {
      const { reservation } = openRoom(createUnsent({ stalledMs: 0, yieldsAfterMs }))
      reservation.resize(MIB)
      reservation.handOver(() => undefined)
      if (!isWaiting) reservation.accepted(1)
      return reservation.yields()
    }
    expect(yields(Number.POSITIVE_INFINITY, true)).toBe(false)
    expect(yields(0, false)).toBe(false)
    expect(yields(0, true)).toBe(true)
  })

  test('is not taken from answers that hold none, or wait for no reader', () => {
    const unsent = createUnsent({ stalledMs: 0 })
    const cut: string[] = []
    const begin = (name: string, bytes: number) => {
      const { reservation } = openRoom(unsent, { caller: name })
      reservation.resize(bytes)
      reservation.handOver(() => {
        cut.push(name)
        reservation.release()
      })
      return reservation
    }
    begin('empty', 0)
    const quiet = begin('quiet', 20 * MIB)
    quiet.accepted(20 * MIB)
    begin('stalled', 50 * MIB)
    begin('new', 60 * MIB)
    expect(cut).toEqual(['stalled'])
    expect(codeOf(() => begin('newest', 70 * MIB))).toBe('BUSY')
    expect(cut).toEqual(['stalled', 'new'])
    quiet.offered()
    begin('newest', 70 * MIB)
    expect(cut).toEqual(['stalled', 'new', 'quiet'])
  })

  test('is found before a write, whose answer is then sent in any case', () => {
    const unsent = createPatient()
    const writes = [1, 2, 3, 4].map(() => openRoom(unsent).reservation)
    for (const reservation of writes) reservation.reserve(15 * MIB)
    expect(codeOf(() => openRoom(unsent).reservation.reserve(15 * MIB))).toBe('BUSY')
    const answers = writes.map((reservation) => codeOf(() => reservation.bodyOf(LARGE, true)))
    expect(answers).toEqual(['done', 'done', 'done', 'done'])
  })
})
