/** The rows of a long list that are to be drawn. */
export interface Span {
  /** The first row. */
  readonly first: number
  /** The row after the last one. */
  readonly end: number
  /** The distance of the first row from the top of the list, px. */
  readonly offset: number
  /** The height of the whole list, px. */
  readonly total: number
}

export interface View {
  /** How far the list is scrolled, px. */
  readonly top: number
  /** The height of the part that is seen, px. */
  readonly height: number
  readonly rows: number
  /** The height of a row, px. */
  readonly row: number
}

/** Browsers do not make elements much higher, px. */
const HIGHEST = 8_000_000
/** Rows beyond both ends, so that they are there before they are seen. */
const BEYOND = 8

/** The rows in view. A list that is higher than browsers permit is scrolled in proportion. */
export function rowsInView({ top, height, rows, row }: View): Span {
  const real = rows * row
  const total = Math.min(real, HIGHEST)
  const scrolls = Math.max(1, total - height)
  const scrolled = Math.min(Math.max(0, top), scrolls)
  const place = real <= HIGHEST ? scrolled : (scrolled / scrolls) * (real - height)
  const first = Math.max(0, Math.floor(place / row) - BEYOND)
  const end = Math.min(rows, Math.ceil((place + height) / row) + BEYOND)
  return { first, end, offset: Math.max(0, scrolled - (place - first * row)), total }
}

/** How far the list is to be scrolled for a row to be in view; `top` when it is. Lists beyond `HIGHEST` are not moved. */
export function scrollTo(at: number, { top, height, rows, row }: View): number {
  if (rows * row > HIGHEST) return top
  if (at * row < top) return at * row
  return Math.max(top, (at + 1) * row - height)
}
