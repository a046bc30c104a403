import { describe, expect, test } from 'bun:test'
import { parseRanges } from '../../../src/http/body/byte-ranges'

const SIZE = 1_000

describe('a Range header', () => {
  test.each([
    ['bytes=0-499', [[0, 500]]],
    ['bytes=500-', [[500, 1_000]]],
    ['bytes=-500', [[500, 1_000]]],
    ['bytes=-5000', [[0, 1_000]]],
    ['bytes=0-0', [[0, 1]]],
    ['bytes=999-999', [[999, 1_000]]],
    ['bytes=999-9999999999999999999999', [[999, 1_000]]],
    [
      'Bytes = 0-4 , 10-14',
      [
        [0, 5],
        [10, 15],
      ],
    ],
    ['bytes=,0-4,,', [[0, 5]]],
    [
      'bytes=10-14,0-4',
      [
        [10, 15],
        [0, 5],
      ],
    ],
    ['bytes=0-4,2000-', [[0, 5]]],
    ['bytes=0-4,-0', [[0, 5]]],
    [
      `bytes=${Array.from({ length: 32 }, (_, n) => `${n}-${n}`).join()}`,
      Array.from({ length: 32 }, (_, n) => [n, n + 1]),
    ],
  ] as const)('%s', (header, ranges) => {
    expect(parseRanges(header, SIZE)).toEqual(
      ranges.map(([begin = 0, end = 0]) => ({ begin, end })),
    )
  })

  test.each([
    'bytes=1000-',
    'bytes=1000-1001',
    'bytes=-0',
    'bytes=1000-,2000-,-0',
    'bytes=99999999999999999999999999-',
  ])('%s names nothing that is there', (header) => {
    expect(parseRanges(header, SIZE)).toBe('unsatisfiable')
  })

  test.each([
    '',
    'bytes',
    'bytes=',
    'bytes=-',
    'bytes=,',
    'bytes=a-b',
    'bytes=0x10-20',
    'bytes=1e2-200',
    'bytes=+1-2',
    'bytes=1.0-2',
    'bytes=--1',
    'bytes=5-4',
    'bytes=0-4,5-4',
    'bytes=0-4;5-9',
    'items=0-4',
    'bytes=0-999,0-0',
    'bytes=0-599,400-999',
    `bytes=${Array.from({ length: 33 }, (_, n) => `${n}-${n}`).join()}`,
    `bytes=${'0-0,'.repeat(100_000)}`,
  ])('%.40s is ignored', (header) => {
    expect(parseRanges(header, SIZE)).toBe('whole')
  })

  test('names nothing in an empty blob', () => {
    for (const header of ['bytes=0-', 'bytes=0-0', 'bytes=-1']) {
      expect(parseRanges(header, 0)).toBe('unsatisfiable')
    }
  })
})
