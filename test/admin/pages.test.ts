import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import {
  countOf,
  dropFar,
  extend,
  findDropped,
  itemAt,
  type Pages,
  refill,
  withoutArriving,
} from '../../src/admin/page/data/pages'

/** What a server answers: the items after the one that is the cursor. */
function answer(list: readonly number[], cursor: string | null, limit: number) {
  const from = cursor === null ? 0 : list.findIndex((item) => item > Number(cursor))
  const items = from < 0 ? [] : list.slice(from, from + limit)
  const isEnd = from < 0 || from + limit >= list.length
  return { items, end: isEnd ? null : String(items.at(-1)) }
}

function grow(pages: Pages<number>, list: readonly number[], limit: number): Pages<number> {
  const { items, end } = answer(list, pages.at(-1)?.end ?? null, limit)
  return extend(pages, items, end)
}

/** Asks for the dropped items between these places, as often as that takes. */
function show(given: Pages<number>, list: readonly number[], first: number, end: number) {
  let pages = dropFar(given, first, end)
  for (;;) {
    const index = findDropped(pages, first, end)
    const page = index === undefined ? undefined : pages[index]
    if (index === undefined || page === undefined) return pages
    const { items, end: after } = answer(list, page.start, page.count)
    pages = refill(pages, index, items, after)
  }
}

function heldBy(pages: Pages<number>): number {
  return pages.reduce((sum, { items }) => sum + (items?.length ?? 0), 0)
}

test('wherever a long list is looked at, its items are there, and far ones are not', () => {
  const list = Array.from({ length: 50_000 }, (_, at) => at)
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 49_990 }), { maxLength: 20 }), (places) => {
      let pages: Pages<number> = []
      while (pages.at(-1)?.end !== null) {
        pages = dropFar(grow(pages, list, 200), countOf(pages), countOf(pages) + 30)
        expect(heldBy(pages)).toBeLessThanOrEqual(3_000)
      }
      expect(countOf(pages)).toBe(50_000)
      for (const place of places) {
        pages = show(pages, list, place, place + 10)
        for (let at = place; at < place + 10; at += 1) expect(itemAt(pages, at)).toBe(at)
        expect(itemAt(pages, 0)).toBe(0)
        expect(heldBy(pages)).toBeLessThanOrEqual(3_000)
      }
    }),
    { numRuns: 3 },
  )
})

test('a list that others change meanwhile has each item once and in order, wherever it is looked at', () => {
  const change = fc.record({
    place: fc.integer({ min: 0, max: 6_000 }),
    removed: fc.array(fc.integer({ min: 0, max: 6_000 }), { maxLength: 300 }),
    added: fc.array(fc.integer({ min: 0, max: 6_000 }), { maxLength: 300 }),
  })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 10 }), (changes) => {
      let list = Array.from({ length: 3_000 }, (_, at) => 2 * at)
      let pages: Pages<number> = []
      while (pages.at(-1)?.end !== null) pages = grow(pages, list, 50)
      for (const { place, removed, added } of changes) {
        const gone = new Set(removed)
        list = [...new Set([...list.filter((item) => !gone.has(item)), ...added])]
        list.sort((one, other) => one - other)
        pages = pages.map((page, at) => (at % 3 === 0 ? page : { ...page, items: undefined }))
        pages = show(pages, list, place, place + 400)
        const [first, end] = [place, Math.min(place + 400, countOf(pages))]
        const shown = pages
          .filter(({ first: from, count }) => from < end && from + count > first)
          .flatMap(({ items = [] }) => items)
        expect(shown).toEqual(shown.toSorted((one, other) => one - other))
        expect(new Set(shown).size).toBe(shown.length)
        let next = 0
        for (const page of pages) {
          expect(page.first).toBe(next)
          next += page.count
        }
      }
      // All of it again, from the first page.
      pages = show(
        pages.map((page) => ({ ...page, items: undefined })),
        list,
        0,
        Infinity,
      )
      while (pages.at(-1)?.end !== null) pages = show(grow(pages, list, 50), list, 0, Infinity)
      expect(pages.flatMap(({ items = [] }) => items)).toEqual(list)
    }),
    { numRuns: 50 },
  )
})

test('items of a page that arrives are added to it until its end is known', () => {
  const one = extend(extend([], ['a']), ['b'])
  expect(one).toEqual([{ start: null, end: undefined, first: 0, count: 2, items: ['a', 'b'] }])
  expect(withoutArriving(one)).toEqual([])
  const two = extend(extend(one, [], 'after b'), ['c'])
  expect(two.map(({ start, first, items }) => [start, first, items])).toEqual([
    [null, 0, ['a', 'b']],
    ['after b', 2, ['c']],
  ])
  expect(withoutArriving(two)).toHaveLength(1)
  expect(dropFar(two, 1_000_000, 1_000_010).at(-1)?.items).toEqual(['c'])
  expect(itemAt(two, 2)).toBe('c')
  expect(itemAt(two, 3)).toBeUndefined()
  expect(itemAt([], 0)).toBeUndefined()
})
