import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { rowsInView, scrollTo, topAfter, type View } from '../parts/rows-in-view'
import { Ago } from '../parts/ago'
import { still } from '../parts/still'
import { Value } from '../value/cell'
import { describe, sizeText } from '../value/typed'
import { type Row, widthFor } from './columns'
import { shortText, Text } from '../parts/text'

const ROW = 34
interface GridProps {
  readonly count: number
  /** How many rows were put before the first one, in all. */
  readonly added: number
  /** Undefined while the row is not here. */
  readonly rowAt: (at: number) => Row | undefined
  /** The first rows, which say how wide the columns are. */
  readonly sample: readonly Row[]
  readonly columns: readonly string[]
  readonly selected: string | null
  readonly label: string
  readonly onOpen: (row: Row) => void
  /** Called with the next row where one is open. */
  readonly onMove: (row: Row) => void
  /** Called with the first row in view, and the one after the last. */
  readonly onView: (first: number, end: number) => void
}

/** A table of which only the rows in view are drawn. The arrow keys move, Enter opens. */
export function Grid(props: GridProps) {
  const { count, added, rowAt, sample, columns, selected, label, onOpen, onMove, onView } = props
  const box = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(600)
  const [active, setActive] = useState(0)
  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return undefined
    const measure = () => setHeight(element.clientHeight - ROW)
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  const view = useSteadyView({ top, height, rows: count, row: ROW }, added)
  const { first, end, offset, total } = rowsInView(view)
  useLayoutEffect(() => {
    if (view.top === top || box.current === null) return
    box.current.scrollTop = view.top
    setTop(view.top)
  }, [view.top, top])
  const known = useRef(added)
  useLayoutEffect(() => {
    setActive(active + added - known.current)
    known.current = added
  }, [added])
  useEffect(() => onView(first, end))

  const widths = useMemo(() => widthsOf(sample, columns), [columns, sample[SAMPLE - 1], sample[0]])
  const open = useCallback(
    (row: Row, at: number) => {
      setActive(at)
      onOpen(row)
    },
    [onOpen],
  )
  const move = (to: number) => {
    const at = Math.min(Math.max(0, to), count - 1)
    if (at < 0) return
    setActive(at)
    if (box.current !== null) box.current.scrollTop = scrollTo(at, view)
    const row = rowAt(at)
    if (selected !== null && row !== undefined) onMove(row)
  }
  const onKey = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return
    const page = Math.floor(height / ROW) - 1
    const goals: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: count - 1,
    }
    const goal = goals[event.key]
    const row = rowAt(active)
    if (goal !== undefined) move(goal)
    else if (event.key === 'Enter' && row !== undefined) onOpen(row)
    else return
    event.preventDefault()
  }

  return (
    <div
      ref={box}
      class="grid"
      role="grid"
      aria-label={label}
      aria-rowcount={count + 1}
      aria-activedescendant={count > 0 ? `row-${active}` : undefined}
      tabIndex={0}
      style={{ '--columns': widths.map((width) => `${width}px`).join(' ') }}
      onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}
      onKeyDown={onKey}
    >
      <div class="grid-row grid-head" role="row" aria-rowindex={1}>
        <span role="columnheader">key</span>
        {columns.map((name) => (
          <span key={name} role="columnheader" class={isOfNumbers(sample, name) ? 'number' : ''}>
            <Text text={name} />
          </span>
        ))}
        <span role="columnheader">owner</span>
        <span role="columnheader">realm</span>
        <span role="columnheader">written</span>
      </div>
      <div class="grid-rows" role="presentation" style={{ height: `${total}px` }}>
        <div role="presentation" style={{ transform: `translateY(${offset}px)` }}>
          {placesOf(first, end).map((at) => {
            const row = rowAt(at)
            return (
              <GridRow
                key={at}
                row={row}
                at={at}
                columns={columns}
                isActive={at === active}
                isSelected={row !== undefined && row.key === selected}
                onOpen={open}
              />
            )
          })}
        </div>
      </div>
    </div>
  )
}

function placesOf(first: number, end: number): readonly number[] {
  return Array.from({ length: end - first }, (_, at) => first + at)
}

/** The view of a list that stays where it is while the list grows; at its top, new rows are seen. */
function useSteadyView(view: View, added: number): View {
  const before = useRef({ rows: view.rows, added })
  const above = view.top > 0 ? added - before.current.added : 0
  const steady = { ...view, top: topAfter(before.current.rows, view, above) }
  before.current = { rows: view.rows, added }
  return steady
}

interface GridRowProps {
  readonly row: Row | undefined
  readonly at: number
  readonly columns: readonly string[]
  readonly isActive: boolean
  readonly isSelected: boolean
  readonly onOpen: (row: Row, at: number) => void
}

const GridRow = still(({ row, at, columns, isActive, isSelected, onOpen }: GridRowProps) => (
  <div
    id={`row-${at}`}
    class={`grid-row ${isActive ? 'active' : ''} ${isSelected ? 'selected' : ''}`}
    role="row"
    aria-rowindex={at + 2}
    aria-selected={isSelected}
    aria-busy={row === undefined}
    onClick={() => row !== undefined && onOpen(row, at)}
  >
    {row === undefined ? (
      <span role="gridcell" class="v-null">
        …
      </span>
    ) : (
      <Cells row={row} columns={columns} />
    )}
  </div>
))

function Cells({ row, columns }: { row: Row; columns: readonly string[] }) {
  return (
    <>
      <span
        role="gridcell"
        class="clip mono"
        title={row.key.length > 20 ? shortText(row.key) : undefined}
      >
        <Text text={row.key} />
      </span>
      {columns.map((name) => (
        <span key={name} role="gridcell" class="clip">
          <Cell row={row} name={name} />
        </span>
      ))}
      <span role="gridcell" class="clip soft">
        {row.owner !== null && <Text text={row.owner} />}
      </span>
      <span role="gridcell" class="clip soft">
        <Text text={row.realmId} />
      </span>
      <span role="gridcell" class="clip soft">
        <Ago at={row.updated} />
      </span>
    </>
  )
}

function Cell({ row, name }: { row: Row; name: string }) {
  const { value, cut, isDamaged, size } = row
  if (isDamaged) return <span class="bad-text">damaged</span>
  if (value === null || cut.includes(name)) return <span class="v-null">{sizeText(size)}</span>
  if (!Object.hasOwn(value, name)) return <span class="v-null">·</span>
  return <Value value={value[name]} />
}

const SAMPLE = 50

function widthsOf(rows: readonly Row[], columns: readonly string[]): number[] {
  const sample = rows.slice(0, SAMPLE)
  const lengths = (of: (row: Row) => string) => sample.map((row) => of(row).length)
  return [
    widthFor(
      lengths(({ key }) => key),
      3,
    ),
    ...columns.map((name) =>
      widthFor(
        lengths(({ value }) => (value === null ? '' : lineOf(value, name))),
        name.length,
      ),
    ),
    widthFor(
      lengths(({ owner }) => owner ?? ''),
      5,
    ),
    widthFor(
      lengths(({ realmId }) => realmId),
      5,
    ),
    104,
  ]
}

/** True for a column whose first value is a number: its head stands above the digits. */
function isOfNumbers(sample: readonly Row[], name: string): boolean {
  const row = sample.find(({ value }) => value !== null && Object.hasOwn(value, name))
  return describe(row?.value?.[name]).kind === 'number'
}

function lineOf(value: Readonly<Record<string, unknown>>, name: string): string {
  if (!Object.hasOwn(value, name)) return ''
  const described = describe(value[name])
  return described.kind === 'date' ? 'Nov 27, 2026, 03:04 PM' : described.text
}
