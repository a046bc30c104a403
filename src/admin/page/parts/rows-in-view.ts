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
const HIGHEST = 16_000_000
/** Rows beyond both ends, so that they are there before they are seen. */
const BEYOND = 8

/** The rows in view. A list that is higher than browsers permit is scrolled in proportion. */
export function rowsInView(view: View): Span {
  const { height, rows, row } = view
  const place = placeOf(view)
  const first = Math.max(0, Math.floor(place / row) - BEYOND)
  const end = Math.min(rows, Math.ceil((place + height) / row) + BEYOND)
  const offset = Math.max(0, topIn(view) - (place - first * row))
  return { first, end, offset, total: Math.min(rows * row, HIGHEST) }
}

/** How far the upper edge of the view is from the first row, in heights of rows as they are drawn, px. */
function placeOf(view: View): number {
  return topIn(view) * scaleOf(view)
}

/**
 * How far the list is to be scrolled for the same rows to be in view as when it had `before` rows, of which `added` were
 * put before the first.
 */
export function topAfter(before: number, view: View, added = 0): number {
  const place = view.top * scaleOf({ ...view, rows: before })
  return (place + added * view.row) / scaleOf(view)
}

/** `top` without what is scrolled beyond the ends. */
function topIn(view: View): number {
  return Math.min(Math.max(0, view.top), scrollsOf(view))
}

/** The longest way to scroll, px. */
function scrollsOf({ height, rows, row }: View): number {
  return Math.max(1, Math.min(rows * row, HIGHEST) - height)
}

/** The way of the rows for one pixel of scrolling. */
function scaleOf(view: View): number {
  const real = view.rows * view.row
  return real <= HIGHEST ? 1 : (real - view.height) / scrollsOf(view)
}

/** How far the list is to be scrolled for a row to be in view; `top` when it is. */
export function scrollTo(at: number, view: View): number {
  const { top, height, row } = view
  const place = placeOf(view)
  if (at * row < place) return (at * row) / scaleOf(view)
  const lowest = (at + 1) * row - height
  return lowest > place ? lowest / scaleOf(view) : top
}
