import { useEffect, useMemo, useState } from 'preact/hooks'
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
import { countOf, itemAt } from './pages'
import { PAGE, useLongList } from './use-rows'

interface TableProps {
  readonly table: string
  readonly info: TableInfo | undefined
  readonly selected: string | null
  readonly onOpen: (row: Row) => void
  readonly onNew: () => void
}

/** The objects of a table. */
export function Table({ table, info, selected, onOpen, onNew }: TableProps) {
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
  const isChanged = useChangedSince(table, found.askedAt)
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
            rowAt={(at) => itemAt(pages, at)}
            sample={sample}
            columns={columns}
            selected={selected}
            label={table}
            onOpen={onOpen}
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

/** True when Live has heard of a change of the table since this time, ms. */
function useChangedSince(table: string, since: number): boolean {
  return feed.value.entries.some(
    (entry) =>
      'commit' in entry &&
      entry.commit.at > since &&
      entry.commit.tables.some((change) => change.table === table),
  )
}
