import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { rowsInView, scrollTo, topAfter } from '../../src/admin/page/parts/rows-in-view'

test('the rows that are drawn cover the view, wherever the list is scrolled', () => {
  fc.assert(
    fc.property(
      fc.record({
        top: fc.integer({ min: 0, max: 40_000_000 }),
        height: fc.integer({ min: 1, max: 3_000 }),
        rows: fc.integer({ min: 0, max: 1_000_000 }),
        row: fc.integer({ min: 20, max: 60 }),
      }),
      (view) => {
        const { first, end, offset, total } = rowsInView(view)
        const top = Math.min(view.top, Math.max(1, total - view.height))
        expect(first).toBeLessThanOrEqual(end)
        expect(end).toBeLessThanOrEqual(view.rows)
        if (view.rows * view.row > view.height) {
          expect(offset).toBeLessThanOrEqual(top + 1)
          const bottom = offset + (end - first) * view.row
          expect(bottom).toBeGreaterThanOrEqual(Math.min(total, top + view.height) - 1)
        }
      },
    ),
  )
})

test('a million rows need no element that browsers refuse, and the last one can be reached', () => {
  const view = { top: Number.MAX_SAFE_INTEGER, height: 600, rows: 1_000_000, row: 34 }
  const { end, total } = rowsInView(view)
  expect(total).toBe(16_000_000)
  expect(end).toBe(1_000_000)
})

test('a row beyond an edge is scrolled to that edge', () => {
  const view = { top: 340, height: 340, rows: 100, row: 34 }
  expect(scrollTo(12, view)).toBe(340)
  expect(scrollTo(5, view)).toBe(170)
  expect(scrollTo(30, view)).toBe(31 * 34 - 340)
})

test('any row of a million is scrolled to, and stays in view while the list grows', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 999_999 }),
      fc.integer({ min: 0, max: 15_999_400 }),
      (at, top) => {
        const view = { top, height: 600, rows: 1_000_000, row: 34 }
        const there = { ...view, top: scrollTo(at, view) }
        const seen = rowsInView(there)
        expect(seen.first).toBeLessThanOrEqual(at)
        expect(seen.end).toBeGreaterThan(at)
        const grown = { ...there, rows: view.rows + 200 }
        const { first } = rowsInView({ ...grown, top: topAfter(view.rows, grown) })
        expect(Math.abs(first - seen.first)).toBeLessThanOrEqual(1)
        const moved = rowsInView({ ...grown, top: topAfter(view.rows, grown, 200) })
        expect(moved.first).toBeLessThanOrEqual(at + 200)
        expect(moved.end).toBeGreaterThan(at + 200)
      },
    ),
  )
})
