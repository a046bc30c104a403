import { describe, expect, test } from 'bun:test'
import { inOrderMade, isInOrder, withRightTimes } from '../../../src/domain/sync/clock'
import type { ClientTransaction, Operation } from '../../../src/domain/sync/request'
import { DAY, HOUR, MINUTE } from '../../../src/domain/value/time'

const NOW = 1_000 * DAY

/** An operation of a table at a place of its log, stamped so long after now, ms. */
function operation(table: string, rev: number | undefined, after: number | undefined): Operation {
  const ts = after === undefined ? undefined : NOW + after
  const action = { type: 'update', changes: [] } as const
  return { table, keys: [], ts, rev, userId: undefined, action }
}

function transaction(txid: string, ...operations: Operation[]): ClientTransaction {
  return { txid, isUpload: false, operations, refusal: undefined }
}

/** The corrected times of operations of one table, in the order of its log: so long after now, ms. */
function corrected(...after: readonly number[]): readonly number[] {
  const operations = after.map((one, rev) => operation('cards', rev, one))
  // As clients send them: in the order of their times.
  const sent = operations.toSorted((one, other) => one.ts! - other.ts!)
  const [right] = withRightTimes([transaction('t', ...sent)], NOW)
  return operations.map(({ rev }) => right!.operations.find((one) => one.rev === rev)!.ts! - NOW)
}

describe('the times of the operations of a client', () => {
  test.each([
    ['stay as they are in the past', [-3, -2, -2, 0], [-3, -2, -2, 0]],
    ['go back by the lead of the clock', [-5, 7, HOUR], [-5 - HOUR, 7 - HOUR, 0]],
    ['stay where the clock was set back after them', [HOUR, -MINUTE, -1], [-MINUTE, -MINUTE, -1]],
    [
      'go back before those after which the clock was right',
      [-60, 100, -9, 50, -5, -1],
      [-224, -64, -64, -5, -5, -1],
    ],
    [
      'stay in the past where others are more than a day in the future',
      [-MINUTE, -5, 400 * DAY, 401 * DAY],
      [-MINUTE, -5, 0, 0],
    ],
    [
      'stay where a clock lost years for a while',
      [-MINUTE, -400 * DAY, -1],
      [-MINUTE, -400 * DAY, -1],
    ],
    [
      'are no later than the first after a clock years in the future was set right',
      [-HOUR, 400 * DAY, -MINUTE, -1],
      [-HOUR, -MINUTE, -MINUTE, -1],
    ],
    ['that are a day ahead go back', [0, DAY], [-DAY, 0]],
    ['that are more than a day ahead go back alone', [0, DAY + 1], [0, 0]],
  ])('%s', (_, stamped, expected) => {
    expect(corrected(...stamped)).toEqual(expected)
  })

  test('are those of each table', () => {
    const [fast, right] = [operation('cards', 1, HOUR), operation('lists', 1, -5)]
    const [sent] = withRightTimes([transaction('t', right, fast)], NOW)
    expect(sent?.operations).toEqual([right, { ...fast, ts: NOW }])
  })

  test('are not corrected where there are none, and in their order where they are not logged', () => {
    const upload = operation('cards', undefined, undefined)
    const [one, other] = [operation('cards', undefined, 5), operation('cards', undefined, 9)]
    const [sent] = withRightTimes([transaction('t', upload, one, other)], NOW)
    expect(sent?.operations).toEqual([upload, { ...one, ts: NOW - 4 }, { ...other, ts: NOW }])
  })
})

describe('the transactions of a client', () => {
  test('come in the order in which it made them, over all of its tables', () => {
    const first = transaction('first', operation('cards', 1, HOUR), operation('lists', 4, HOUR))
    const second = transaction('second', operation('lists', 5, 2 * HOUR))
    const third = transaction('third', operation('cards', 2, -5), operation('lists', 6, -5))
    const other = transaction('other', operation('notes', 1, -1))
    const sent = [third, other, first, second]
    expect(isInOrder(sent)).toBe(false)
    const made = inOrderMade(sent)
    expect(made.map(({ txid }) => txid)).toEqual(['first', 'second', 'third', 'other'])
    expect(isInOrder(made)).toBe(true)
    expect(inOrderMade(made)).toBe(made)
  })

  test('are all there where no order is that of each table, and where there are thousands', () => {
    const circle = [
      transaction('one', operation('cards', 2, 0), operation('lists', 1, 0)),
      transaction('other', operation('cards', 1, 0), operation('lists', 2, 0)),
    ]
    expect(new Set(inOrderMade(circle))).toEqual(new Set(circle))
    const many = Array.from({ length: 50_000 }, (_, at) =>
      transaction(`${at}`, operation('cards', 50_000 - at, at)),
    )
    expect(inOrderMade(many)).toEqual(many.toReversed())
  })
})
