import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { diffLines, foldSame } from '../../src/admin/page/object/diff'

const text = fc
  .array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 })
  .map((lines) => lines.join('\n'))

test('a difference leads from one text to the other', () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = diffLines(before, after)
      const without = (kind: 'added' | 'removed') =>
        lines.flatMap((line) => (line.kind === kind ? [] : [line.text])).join('\n')
      expect(without('added')).toBe(before)
      expect(without('removed')).toBe(after)
    }),
  )
})

test('as many lines as possible stay', () => {
  const kinds = diffLines('a\nb\nc\nd', 'a\nc\nx\nd').map(({ kind, text }) => `${kind} ${text}`)
  expect(kinds).toEqual(['same a', 'removed b', 'same c', 'added x', 'same d'])
})

test('texts with very many other lines are one block', () => {
  const lines = (letter: string) =>
    Array.from({ length: 3_000 }, (_, at) => `${letter}${at}`).join('\n')
  expect(diffLines(`{\n${lines('a')}\n}`, `{\n${lines('b')}\n}`)).toHaveLength(6_002)
})

test('unchanged lines away from changes are counted', () => {
  const before = Array.from({ length: 20 }, (_, at) => String(at)).join('\n')
  const folded = foldSame(diffLines(before, before.replace('10', 'ten')))
  expect(folded.map((line) => (typeof line === 'number' ? line : line.text))).toEqual([
    7,
    '7',
    '8',
    '9',
    '10',
    'ten',
    '11',
    '12',
    '13',
    6,
  ])
  expect(foldSame(diffLines('a', 'a'))).toEqual([1])
})
