import type { ComponentChildren } from 'preact'
import type { PagedList } from '../data/use-rows'
import { moveByArrows } from './arrow-keys'
import { Failure } from './failure'
import { PageHead } from './page-head'

/** A page with a long list, and beside it the row that is chosen. */
export function ListPage<Item>({
  title,
  about,
  actions,
  work,
  list,
  columns,
  rowOf,
  empty,
  panel,
}: {
  title: string
  /** Beside the title; by default the number of rows. */
  about?: ComponentChildren
  actions: ComponentChildren
  /** Between the title and the list. */
  work?: ComponentChildren
  list: PagedList<Item>
  /** The heads of the columns. */
  columns: ComponentChildren
  rowOf: (item: Item) => ComponentChildren
  /** In the place of a list that has no rows. */
  empty: ComponentChildren
  /** The chosen row; undefined: none is. */
  panel: ComponentChildren
}) {
  const { rows, isComplete, isMore, error } = list
  const count = `${rows.length.toLocaleString()}${isComplete ? '' : '+'}`
  return (
    <div class={`split ${panel === undefined ? '' : 'with-panel'}`}>
      <section class="fill">
        <PageHead title={title} about={about ?? (rows.length > 0 || isComplete ? count : '')}>
          {actions}
        </PageHead>
        <Failure error={error} onAgain={list.retry} />
        {work}
        {rows.length === 0 && isComplete && error === undefined ? (
          empty
        ) : (
          <div class="sheet-box">
            <table class="sheet" onKeyDown={moveByArrows}>
              <thead>
                <tr>{columns}</tr>
              </thead>
              <tbody>{rows.map(rowOf)}</tbody>
            </table>
            {isMore && (
              <button class="more" onClick={list.loadMore}>
                More
              </button>
            )}
          </div>
        )}
      </section>
      {panel}
    </div>
  )
}
