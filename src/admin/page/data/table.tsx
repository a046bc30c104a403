import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Empty } from '../parts/empty'
import { Failure } from '../parts/failure'
import { Icon } from '../parts/icon'
import { PageHead } from '../parts/page-head'
import { isReadOnly, may } from '../server/session'
import { useShortcut } from '../shell/keys'
import { database } from '../shell/route'
import { feed } from '../live/following'
import { ColumnChooser } from './column-chooser'
import { columnsOf, FIRST_COLUMNS, LOOKED_AT, type Row } from './columns'
import { Download } from './download'
import { type Finding, FindBar, NO_FINDING, queryOf } from './find-bar'
import { Grid } from './grid'
import type { TableInfo } from './tables'
import { countOf, itemAt, placeIn } from './pages'
import { PAGE, useLongList } from './use-rows'

/** What was done to an object on this page. */
export interface Written {
  readonly table: string
  readonly key: string
  readonly how: 'added' | 'changed' | 'deleted'
}

interface TableProps {
  readonly table: string
  readonly info: TableInfo | undefined
  /** The last that was written; null: nothing yet. */
  readonly written: Written | null
  readonly selected: string | null
  readonly onOpen: (row: Row) => void
  readonly onMove: (row: Row) => void
  readonly onNew: () => void
}

/** The objects of a table. */
export function Table(props: TableProps) {
  const { table, info, written, selected, onOpen, onMove, onNew } = props
  const [finding, setFinding] = useState<Finding>(NO_FINDING)
  const [newestFirst, setNewestFirst] = useState(true)
  const [chosen, setChosen] = useState<readonly string[] | null>(null)
  const query = { database: database.value, table, newestFirst, ...queryOf(finding) }
  const found = useLongList<Row>('object.list', 'objects', { ...query, limit: PAGE })
  const { pages, isLoading, isComplete, seen, error, reload } = found
  const count = countOf(pages)
  useShortcut('r', 'Load again', reload)

  const sample = pages[0]?.items ?? []
  // The same names while more rows come: other ones would draw every cell again.
  const all = useMemo(() => columnsOf(sample), [Math.min(sample.length, LOOKED_AT), sample[0]])
  const columns = useMemo(() => chosen ?? all.slice(0, FIRST_COLUMNS), [chosen, all])
  const isFiltered = finding.text.trim() !== ''
  const since = useMemo(() => feed.peek().nextId, [found.askedAt])
  const shown = useShowing(written, since, (change) => {
    const place = placeIn(pages, ({ key }) => key === change.key)
    if (change.how === 'changed' || change.how === 'deleted') {
      if (place !== undefined) found.renew(place, change.how === 'deleted' ? -1 : 0)
    } else if (finding.way === 'prefix' && isFiltered) reload()
    else if (newestFirst) found.renewTop(({ key }) => key)
    else if (isComplete) found.renew(count, 1)
  })
  const isChanged = useChangedSince(table, since, shown)
  useEffect(() => setChosen(null), [table])

  return (
    <section class="table-view fill" aria-label={table}>
      <PageHead title={table} about={aboutOf(count, isComplete, isFiltered, info)}>
        <button
          class={isChanged ? 'changed' : ''}
          title={isChanged ? 'The table has changed: load again (r)' : 'Load again (r)'}
          aria-label={isChanged ? 'The table has changed: load again' : 'Load again'}
          onClick={reload}
        >
          <Icon name="reload" />
        </button>
        <FindBar finding={finding} onFind={setFinding} />
        <button
          aria-pressed={newestFirst}
          disabled={finding.way === 'prefix' && isFiltered}
          onClick={() => setNewestFirst(!newestFirst)}
        >
          Newest first
        </button>
        <ColumnChooser all={all} chosen={columns} onChoose={setChosen} />
        <Download query={query} />
        {!isReadOnly.value && may('object.put') && (
          <button class="main" onClick={onNew}>
            <Icon name="plus" />
            New
          </button>
        )}
      </PageHead>
      {seen !== null && (
        <p class="searching" role="status">
          Looked at {seen.toLocaleString()} objects…{' '}
          <button class="link" onClick={found.cancel}>
            Stop
          </button>
        </p>
      )}
      <Failure error={error} onAgain={found.retry} />
      {count === 0 && !isLoading && error === undefined ? (
        <Empty icon="data" title={isFiltered ? 'No object matches' : 'No object is in this table'}>
          {isFiltered
            ? 'Equal values are written as in an address: done=false&title=Milk'
            : 'Objects appear here when an application syncs them, or when you add one.'}
        </Empty>
      ) : (
        <div class={isLoading && count === 0 ? 'waiting grid-box' : 'grid-box'}>
          <Grid
            count={count}
            added={found.added}
            rowAt={(at) => itemAt(pages, at)}
            sample={sample}
            columns={columns}
            selected={selected}
            label={table}
            onOpen={onOpen}
            onMove={onMove}
            onView={found.see}
          />
        </div>
      )}
    </section>
  )
}

function aboutOf(
  count: number,
  isComplete: boolean,
  isFiltered: boolean,
  info: TableInfo | undefined,
): string {
  if (isComplete) return count.toLocaleString()
  if (info === undefined || isFiltered) return `${count.toLocaleString()}+`
  const total = `${info.objects.toLocaleString()}${info.hasMore ? '+' : ''}`
  return count === 0 ? total : `${count.toLocaleString()} of ${total}`
}

/** Calls `show` with each object that is written on this page; returns by key how often that was since. */
function useShowing(
  written: Written | null,
  since: number,
  show: (change: Written) => void,
): ReadonlyMap<string, number> {
  const counts = useMemo(() => new Map<string, number>(), [since])
  const last = useRef(written)
  useEffect(() => {
    if (written === null || written === last.current) return
    last.current = written
    counts.set(written.key, (counts.get(written.key) ?? 0) + 1)
    show(written)
  }, [written])
  return counts
}

/** True when an object of the table has more changes in the lines of Live from this one on than were shown. */
function useChangedSince(
  table: string,
  since: number,
  shown: ReadonlyMap<string, number>,
): boolean {
  const counts = new Map<string, number>()
  for (const entry of feed.value.entries) {
    if (!('commit' in entry) || entry.id < since) continue
    for (const change of entry.commit.tables) {
      if (change.table !== table) continue
      for (const key of change.keys) counts.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  return [...counts].some(([key, count]) => count > (shown.get(key) ?? 0))
}
