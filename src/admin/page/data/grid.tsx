import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { rowsInView, scrollTo } from '../parts/rows-in-view'
import { Ago } from '../parts/ago'
import { Value } from '../value/cell'
import { describe, sizeText } from '../value/typed'
import { type Row, widthFor } from './columns'
import { Text } from '../parts/text'

const ROW = 34
/** The next page is asked for when so many rows are left below. */
const AHEAD = 200

interface GridProps {
  readonly rows: readonly Row[]
  readonly columns: readonly string[]
  readonly selected: string | null
  readonly label: string
  readonly onOpen: (row: Row) => void
  readonly onEnd: () => void
}

/** A table of which only the rows in view are drawn. The arrow keys move, Enter opens. */
export function Grid({ rows, columns, selected, label, onOpen, onEnd }: GridProps) {
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

  const view = { top, height, rows: rows.length, row: ROW }
  const { first, end, offset, total } = rowsInView(view)
  useEffect(() => {
    if (end >= rows.length - AHEAD) onEnd()
  }, [end, rows.length, onEnd])

  const widths = useMemo(() => widthsOf(rows, columns), [columns, rows.slice(0, 50)[49], rows[0]])
  const move = (to: number) => {
    const at = Math.min(Math.max(0, to), rows.length - 1)
    const row = rows[at]
    if (row === undefined) return
    setActive(at)
    if (box.current !== null) box.current.scrollTop = scrollTo(at, view)
    if (selected !== null) onOpen(row)
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
      End: rows.length - 1,
    }
    const goal = goals[event.key]
    const row = rows[active]
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
      aria-rowcount={rows.length + 1}
      aria-activedescendant={rows.length > 0 ? `row-${active}` : undefined}
      tabIndex={0}
      style={{ '--columns': widths.map((width) => `${width}px`).join(' ') }}
      onScroll={({ currentTarget }) => setTop(currentTarget.scrollTop)}
      onKeyDown={onKey}
    >
      <div class="grid-row grid-head" role="row" aria-rowindex={1}>
        <span role="columnheader">key</span>
        {columns.map((name) => (
          <span key={name} role="columnheader">
            <Text text={name} />
          </span>
        ))}
        <span role="columnheader">owner</span>
        <span role="columnheader">realm</span>
        <span role="columnheader">written</span>
      </div>
      <div class="grid-rows" role="presentation" style={{ height: `${total}px` }}>
        <div role="presentation" style={{ transform: `translateY(${offset}px)` }}>
          {rows.slice(first, end).map((row, at) => (
            <GridRow
              key={row.key}
              row={row}
              at={first + at}
              columns={columns}
              isActive={first + at === active}
              isSelected={row.key === selected}
              onOpen={() => {
                setActive(first + at)
                onOpen(row)
              }}
            />
          ))}
        </div>
      </div>
    </div>
  )
}

interface GridRowProps {
  readonly row: Row
  readonly at: number
  readonly columns: readonly string[]
  readonly isActive: boolean
  readonly isSelected: boolean
  readonly onOpen: () => void
}

function GridRow({ row, at, columns, isActive, isSelected, onOpen }: GridRowProps) {
  const cells = useMemo(
    () =>
      columns.map((name) => (
        <span key={name} role="gridcell" class="clip">
          <Cell row={row} name={name} />
        </span>
      )),
    [row, columns],
  )
  return (
    <div
      id={`row-${at}`}
      class={`grid-row ${isActive ? 'active' : ''} ${isSelected ? 'selected' : ''}`}
      role="row"
      aria-rowindex={at + 2}
      aria-selected={isSelected}
      onClick={onOpen}
    >
      <span role="gridcell" class="clip mono" title={row.key.length > 20 ? row.key : undefined}>
        <Text text={row.key} />
      </span>
      {cells}
      <span role="gridcell" class="clip soft">
        {row.owner !== null && <Text text={row.owner} />}
      </span>
      <span role="gridcell" class="clip soft">
        <Text text={row.realmId} />
      </span>
      <span role="gridcell" class="clip soft">
        <Ago at={row.updated} />
      </span>
    </div>
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

function lineOf(value: Readonly<Record<string, unknown>>, name: string): string {
  if (!Object.hasOwn(value, name)) return ''
  const described = describe(value[name])
  return described.kind === 'date' ? 'Nov 27, 2026, 03:04 PM' : described.text
}
