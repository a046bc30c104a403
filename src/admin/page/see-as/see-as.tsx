import { useState } from 'preact/hooks'
import { firstOf, type TableInfo } from '../data/tables'
import { useRows } from '../data/use-rows'
import { Empty } from '../parts/empty'
import { Failure } from '../parts/failure'
import { PageHead } from '../parts/page-head'
import { PausedSearch } from '../parts/paused-search'
import { shortText } from '../parts/text'
import { useOperation } from '../server/operation'
import { database, place, replacePlace } from '../shell/route'
import { SeenRows } from './seen-rows'
import { UserField } from './user-field'

/** A table as one user sees it, or two side by side: `#/shop/see-as/alice@example.com/bob@example.com`. */
export function SeeAs() {
  const [one = '', other = ''] = place.value.rest
  const { value: tables, error } = useOperation<readonly TableInfo[]>('table.list', {
    database: database.value,
  })
  const [chosen, setChosen] = useState<string | null>(null)
  const [search, setSearch] = useState('')
  const table = chosen ?? (tables === undefined ? undefined : firstOf(tables))
  const choose = (users: readonly string[]) =>
    replacePlace({ ...place.value, rest: users.filter((user) => user !== '') })
  return (
    <div class="fill">
      <PageHead title="See as" about="The data as a user has it, read only">
        <select
          aria-label="Table"
          value={table ?? ''}
          onChange={({ currentTarget }) => setChosen(currentTarget.value)}
        >
          {tables?.length === 0 && <option value="">no table</option>}
          {tables?.map(({ name }) => (
            <option key={name} value={name}>
              {shortText(name)}
            </option>
          ))}
        </select>
        <PausedSearch label="Text in objects" text={search} onSearch={setSearch} />
      </PageHead>
      <Failure error={error} />
      <div class="users">
        <UserField label="User" user={one} onChoose={(user) => choose([user, other])} />
        <UserField
          label="Compared with"
          user={other}
          isOff={one === ''}
          onChoose={(user) => choose([one, user])}
        />
      </div>
      {one === '' || table === undefined ? (
        <Empty icon="eye" title="Choose a user">
          The list has exactly the objects that the devices of this user get. With a second user,
          rows that only one of them sees are marked, with the reason.
        </Empty>
      ) : (
        <Comparison
          key={`${table} ${one} ${other}`}
          table={table}
          users={other === '' ? [one] : [one, other]}
          search={search.trim()}
        />
      )}
    </div>
  )
}

interface ComparisonProps {
  readonly table: string
  readonly users: readonly string[]
  readonly search: string
}

function Comparison({ table, users, search }: ComparisonProps) {
  const [one = '', other] = users
  const query = {
    database: database.value,
    table,
    newestFirst: false,
    ...(search === '' ? {} : { search }),
  }
  const ofOne = useRows({ ...query, user: one })
  const ofOther = useRows(other === undefined ? null : { ...query, user: other })
  return (
    <div class={`seen ${other === undefined ? '' : 'two'}`}>
      <SeenRows
        user={one}
        table={table}
        found={ofOne}
        others={other === undefined ? undefined : { user: other, keys: keysOf(ofOther) }}
      />
      {other !== undefined && (
        <SeenRows
          user={other}
          table={table}
          found={ofOther}
          others={{ user: one, keys: keysOf(ofOne) }}
        />
      )}
    </div>
  )
}

/** Undefined until all rows are here: a row may still come. */
function keysOf({ rows, isComplete }: ReturnType<typeof useRows>): ReadonlySet<string> | undefined {
  return isComplete ? new Set(rows.map(({ key }) => key)) : undefined
}
