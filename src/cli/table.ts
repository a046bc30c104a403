import { escapeUnits } from '../domain/value/escape'
import { type Style, styled } from './color'

/** The heading of a column; the cells of one that `mayCut` are shortened first where the terminal is narrow. */
export type Heading = string | { readonly mayCut: string }

/** A text of a table, with a style if it is a state. */
type Cell = string | readonly [style: Style, text: string]

interface Column {
  readonly heading: string
  readonly mayCut: boolean
  readonly cells: readonly string[]
  readonly styles: readonly (Style | undefined)[]
  /** The columns of the terminal that it takes, the fewest that it can do with, and the most that it needs. */
  width: number
  readonly least: number
  readonly most: number
}

/**
 * Rows under headings, in columns. At a terminal of `terminalWidth` columns, wide tables are made to
 * fit: empty columns are omitted, cells that may be cut are, then others are wrapped between words, and
 * as a last resort each row becomes lines of a heading and a cell, so ids and addresses are never cut.
 * Without `terminalWidth` nothing is changed, for programs.
 */
export function table(
  headings: readonly Heading[],
  rows: readonly (readonly Cell[])[],
  terminalWidth?: number,
): string {
  const all = headings.map((heading, at) => columnOf(heading, at, rows))
  const fits = terminalWidth === undefined || total(all, WIDE) <= terminalWidth
  if (fits || rows.length === 0) return grid(all, WIDE)
  const columns = all.filter(({ cells }) => cells.some((cell) => cell !== ''))
  shrink(
    columns.filter(({ mayCut }) => mayCut),
    columns,
    terminalWidth,
  )
  shrink(columns, columns, terminalWidth)
  fill(columns, terminalWidth)
  if (total(columns, NARROW) <= terminalWidth) return grid(columns, NARROW)
  return columns.length > 2 ? records(columns, terminalWidth) : grid(columns.map(unshrunk), NARROW)
}

/** A `table`, or `none` without rows; where there are more rows, with how to go on after `cursor`. */
export function list(
  headings: readonly Heading[],
  rows: readonly (readonly Cell[])[],
  { none, cursor = null, width }: ListOptions,
): string {
  if (rows.length === 0) return none
  const after = cursor !== null && (/^[\w.:@=+/-]+$/.test(cursor) ? cursor : `'${oneLine(cursor)}'`)
  const more = cursor === null ? '' : `\nThere are more: add --after ${after}`
  return `${table(headings, rows, width)}${more}`
}

interface ListOptions {
  readonly none: string
  readonly cursor?: string | null | undefined
  readonly width: number | undefined
}

/** A property on each line; empty ones are left out. */
export function properties(rows: readonly (readonly [name: string, value: string])[]): string {
  return rows
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name.padEnd(16)}${oneLine(value)}`)
    .join('\n')
}

/** Text of other people as one line, with control characters and noncharacters escaped. */
export function oneLine(text: string): string {
  return escapeUnits(text, /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\ufdd0-\ufdef]/gu)
}

/** The columns of a terminal between two columns of a table, where there is space and where there is not. */
const WIDE = 3
const NARROW = 2
/** The fewest columns of a terminal for a cell that may be cut. */
const LEAST_CUT = 8

function columnOf(given: Heading, at: number, rows: readonly (readonly Cell[])[]): Column {
  const mayCut = typeof given !== 'string'
  const heading = (mayCut ? given.mayCut : given).toUpperCase()
  const cells = rows.map((row) => oneLine(textOf(row[at] ?? '')))
  const styles = rows.map((row) => (typeof row[at] === 'object' ? row[at][0] : undefined))
  const width = widest([heading, ...cells])
  const words = widest([heading, ...cells].flatMap(wordsOf))
  return {
    heading,
    mayCut,
    cells,
    styles,
    width,
    most: width,
    least: mayCut ? Math.min(width, LEAST_CUT) : words,
  }
}

function textOf(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell[1]
}

/** Takes columns of the terminal from the widest of `chosen`, until `all` fit or none can give more. */
function shrink(chosen: readonly Column[], all: readonly Column[], terminalWidth: number): void {
  const excess = () => total(all, NARROW) - terminalWidth
  while (excess() > 0) {
    const able = chosen.filter(({ width, least }) => width > least)
    const [first, ...others] = able.toSorted((a, b) => b.width - a.width)
    if (first === undefined) return
    const level = Math.max(first.least, Math.min(others[0]?.width ?? 0, first.width - 1))
    first.width = Math.max(level, first.width - excess())
  }
}

/** Gives the columns that wrapped cells leave free to the cells that are cut. */
function fill(columns: readonly Column[], terminalWidth: number): void {
  for (const column of columns.filter(({ mayCut }) => !mayCut)) {
    const lines = [column.heading, ...column.cells].flatMap((text) => wrapped(text, column.width))
    column.width = widest(lines)
  }
  for (const column of columns.filter(({ mayCut }) => mayCut)) {
    const free = Math.max(0, terminalWidth - total(columns, NARROW))
    column.width = Math.min(column.most, column.width + free)
  }
}

function unshrunk(column: Column): Column {
  return { ...column, width: column.most }
}

function total(columns: readonly Column[], gap: number): number {
  return columns.reduce((sum, { width }) => sum + width, gap * (columns.length - 1))
}

function grid(columns: readonly Column[], gap: number): string {
  const titles = columns.map((column) => linesOf(column, column.heading, 'bold'))
  const rows = (columns[0]?.cells ?? []).map((_, row) =>
    columns.map((column) => linesOf(column, column.cells[row] ?? '', column.styles[row])),
  )
  return [titles, ...rows].flatMap((cells) => joined(cells, columns, gap)).join('\n')
}

/** A line of a cell as it is shown, and the columns of the terminal that it takes. */
interface Line {
  readonly text: string
  readonly width: number
}

function linesOf({ width, mayCut }: Column, text: string, style: Style | undefined): Line[] {
  const lines = mayCut ? [cut(text, width)] : wrapped(text, width)
  return lines.map((line) => shown(line, style))
}

function shown(line: string, style: Style | undefined): Line {
  return { text: style === undefined ? line : styled(style, line), width: Bun.stringWidth(line) }
}

/** The lines of one row, in which each cell keeps its column. */
function joined(
  cells: readonly Line[][],
  columns: readonly Pick<Column, 'width'>[],
  gap: number,
): string[] {
  const height = Math.max(...cells.map((lines) => lines.length))
  return Array.from({ length: height }, (_, at) =>
    cells
      .map((lines, column) => {
        const { text, width } = lines[at] ?? { text: '', width: 0 }
        return text + ' '.repeat(Math.max(0, (columns[column]?.width ?? 0) - width))
      })
      .join(' '.repeat(gap))
      .trimEnd(),
  )
}

/** Each row as lines of a heading and a cell, with an empty line between rows. */
function records(columns: readonly Column[], terminalWidth: number): string {
  const width = widest(columns.map(({ heading }) => heading))
  return (columns[0]?.cells ?? [])
    .map((_, row) =>
      columns
        .filter(({ cells }) => cells[row] !== '')
        .flatMap(({ heading, cells, styles }) => {
          const name = { text: styled('bold', heading), width: Bun.stringWidth(heading) }
          const lines = wrapped(cells[row] ?? '', terminalWidth - width - WIDE)
          return joined([[name], lines.map((line) => shown(line, styles[row]))], [{ width }], WIDE)
        })
        .join('\n'),
    )
    .join('\n\n')
}

/** `text` in at most `width` columns of a terminal, with an ellipsis for the part that does not fit. */
function cut(text: string, width: number): string {
  if (Bun.stringWidth(text) <= width) return text
  let start = ''
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (Bun.stringWidth(start + segment) > width - 1) break
    start += segment
  }
  return `${start.trimEnd()}…`
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = ['']
  for (const word of text.match(WORDS) ?? []) {
    const line = `${lines.at(-1)}${word}`
    const isFirst = lines.at(-1) === ''
    if (isFirst || Bun.stringWidth(line.trimEnd()) <= width) lines[lines.length - 1] = line
    else lines.push(word)
  }
  return lines.map((line) => line.trimEnd())
}

/** Words with the space or comma after them, where a line may end. */
const WORDS = /[^ ,]*[ ,]+|[^ ,]+/g

function wordsOf(text: string): string[] {
  return (text.match(WORDS) ?? []).map((word) => word.trimEnd())
}

/** The width in columns of a terminal: East Asian characters take two. */
function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, Bun.stringWidth(text)), 0)
}
