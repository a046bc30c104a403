import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { type DiffLine, diffSteps } from '../../src/admin/page/object/diff'
import { stepsOf } from './steps'

const text = fc
  .array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 12 })
  .map((lines) => lines.join('\n'))

/** All lines of the difference. */
function linesOf(before: string, after: string): readonly DiffLine[] {
  const same = (line: string) => ({ kind: 'same', text: line }) as const
  const { value } = stepsOf(diffSteps(before, after, Infinity))
  return value.flatMap((line) => (typeof line === 'number' ? before.split('\n').map(same) : line))
}

/** How many lines two texts have in common at most. */
function commonLines(one: readonly string[], other: readonly string[]): number {
  let before = [0, ...other.map(() => 0)]
  for (const line of one) {
    const row = [0]
    for (const [at, each] of other.entries()) {
      row.push(line === each ? (before[at] ?? 0) + 1 : Math.max(before[at + 1] ?? 0, row[at] ?? 0))
    }
    before = row
  }
  return before.at(-1) ?? 0
}

test('a difference leads from one text to the other, and as many lines as possible stay', () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const lines = linesOf(before, after)
      const without = (kind: 'added' | 'removed') =>
        lines.flatMap((line) => (line.kind === kind ? [] : [line.text])).join('\n')
      expect(without('added')).toBe(before)
      expect(without('removed')).toBe(after)
      expect(lines.filter(({ kind }) => kind === 'same')).toHaveLength(
        commonLines(before.split('\n'), after.split('\n')),
      )
    }),
    { numRuns: 2_000 },
  )
})

test('lines that are removed come before those in their place', () => {
  const kinds = linesOf('a\nb\nc\nd', 'a\nx\nc\ny\nd').map(({ kind, text }) => `${kind} ${text}`)
  expect(kinds).toEqual(['same a', 'removed b', 'added x', 'same c', 'added y', 'same d'])
})

test('texts with very many other lines are compared as far as that is quick', () => {
  const lines = (letter: string) =>
    Array.from({ length: 3_000 }, (_, at) => `${letter}${at}`).join('\n')
  const found = linesOf(`{\n${lines('a')}\n}`, `{\n${lines('b')}\n}`)
  expect(found).toHaveLength(6_002)
  expect(found.filter(({ kind }) => kind === 'same').map((line) => line.text)).toEqual(['{', '}'])
})

test('few changes of a long text are found wherever they are, in many steps', () => {
  const before = Array.from({ length: 300_000 }, (_, at) => String(at))
  const after = before.with(10, 'ten').toSpliced(150_000, 1).with(299_989, 'last')
  const { value, steps } = stepsOf(diffSteps(before.join('\n'), after.join('\n')))
  const changed = value.filter((line) => typeof line !== 'number' && line.kind !== 'same')
  expect(changed.map((line) => (typeof line === 'number' ? line : line.text))).toEqual([
    '10',
    'ten',
    '150000',
    '299990',
    'last',
  ])
  expect(value.length).toBeLessThan(40)
  expect(steps).toBeGreaterThan(50)
})

test('unchanged lines away from changes are counted', () => {
  const before = Array.from({ length: 20 }, (_, at) => String(at)).join('\n')
  const { value } = stepsOf(diffSteps(before, before.replace('10', 'ten')))
  expect(value.map((line) => (typeof line === 'number' ? line : line.text))).toEqual([
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
  expect(stepsOf(diffSteps('a', 'a')).value).toEqual([1])
  const near = stepsOf(diffSteps('a\nb\nc\nd', 'x\nb\nc\ny')).value
  expect(near.map((line) => (typeof line === 'number' ? line : line.text))).toEqual([
    'a',
    'x',
    'b',
    'c',
    'd',
    'y',
  ])
})
