/** A page of a long list. */
export interface KnownPage<Item> {
  /** The cursor that it is asked for with; null: it is the first page. */
  readonly start: string | null
  /** The cursor of the page after it; null: there is none. Undefined while its items arrive. */
  readonly end: string | null | undefined
  /** The place of its first item in the list. */
  readonly first: number
  /** How many items it has, or had when it was dropped. */
  readonly count: number
  /** Undefined: they were dropped, because they are far from the view. */
  readonly items: readonly Item[] | undefined
}

/** A long list as far as it is known, page by page in its order. */
export type Pages<Item> = readonly KnownPage<Item>[]

/** Items that are so far from the view are dropped. */
const FAR = 1_000

export function countOf(pages: Pages<unknown>): number {
  const last = pages.at(-1)
  return last === undefined ? 0 : last.first + last.count
}

/** Undefined where there is no item, or none any more. */
export function itemAt<Item>(pages: Pages<Item>, at: number): Item | undefined {
  const page = pages[pageAt(pages, at)]
  return page?.items?.[at - page.first]
}

/** The index of the page with the item at this place, or of the last one. */
export function pageAt(pages: Pages<unknown>, at: number): number {
  let [low, high] = [0, pages.length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((pages[middle]?.first ?? 0) <= at) low = middle
    else high = middle - 1
  }
  return low
}

/** Adds items to the page that arrives, or to a new one; `end` completes it. */
export function extend<Item>(
  pages: Pages<Item>,
  items: readonly Item[],
  end?: string | null,
): Pages<Item> {
  const last = pages.at(-1)
  const isNew = last?.end !== undefined || last === undefined
  const before = isNew ? [] : (last.items ?? [])
  const all = [...before, ...items]
  const start = isNew ? (last?.end ?? null) : last.start
  const first = isNew ? countOf(pages) : last.first
  const page = { start, end, first, count: all.length, items: all }
  return [...(isNew ? pages : pages.slice(0, -1)), page]
}

/** Puts items before all others. */
export function prepend<Item>(pages: Pages<Item>, items: readonly Item[]): Pages<Item> {
  const [top, ...later] = pages
  if (top?.items === undefined) return pages
  const all = [...items, ...top.items]
  return [
    { ...top, count: all.length, items: all },
    ...later.map((page) => ({ ...page, first: page.first + items.length })),
  ]
}

/** The place of an item that is here; undefined: it is not. */
export function placeIn<Item>(
  pages: Pages<Item>,
  isWanted: (item: Item) => boolean,
): number | undefined {
  for (const { first, items } of pages) {
    const at = items?.findIndex(isWanted) ?? -1
    if (at !== -1) return first + at
  }
  return undefined
}

/** The pages that are complete. */
export function withoutArriving<Item>(pages: Pages<Item>): Pages<Item> {
  return pages.at(-1)?.end === undefined ? pages.slice(0, -1) : pages
}

/**
 * Puts the items of a page that was dropped and asked for again. Where it ends elsewhere now, because others have added or
 * removed objects, the next page begins there, and is asked for again.
 */
export function refill<Item>(
  pages: Pages<Item>,
  index: number,
  items: readonly Item[],
  end: string | null,
): Pages<Item> {
  const page = pages[index]
  if (page === undefined) return pages
  const filled = { ...page, end, count: items.length, items }
  if (end === null) return [...pages.slice(0, index), filled]
  const moved = items.length - page.count
  const later = pages.slice(index + 1).map((each, at) => {
    const isCut = at === 0 && each.start !== end
    if (!isCut && moved === 0) return each
    const place = { ...each, first: each.first + moved }
    return isCut ? { ...place, start: end, items: undefined } : place
  })
  return [...pages.slice(0, index), filled, ...later]
}

/** Drops the items far from these places, except the first ones: they say which columns there are. */
export function dropFar<Item>(pages: Pages<Item>, first: number, end: number): Pages<Item> {
  const isFar = (page: KnownPage<Item>, at: number) =>
    at > 0 &&
    page.end !== undefined &&
    page.items !== undefined &&
    (page.first + page.count <= first - FAR || page.first >= end + FAR)
  if (!pages.some(isFar)) return pages
  return pages.map((page, at) => (isFar(page, at) ? { ...page, items: undefined } : page))
}

/** The index of the first page between these places without its items. */
export function findDropped(pages: Pages<unknown>, first: number, end: number): number | undefined {
  for (let index = pageAt(pages, Math.max(0, first)); index < pages.length; index += 1) {
    const page = pages[index]
    if (page === undefined || page.first >= end) return undefined
    if (page.items === undefined) return index
  }
  return undefined
}
