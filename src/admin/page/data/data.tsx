import { useEffect, useState } from 'preact/hooks'
import { Empty } from '../parts/empty'
import { Failure } from '../parts/failure'
import { PageHead } from '../parts/page-head'
import { Snippet } from '../parts/snippet'
import { ObjectPanel } from '../object/object-panel'
import { NewPanel } from '../object/new-panel'
import { useOperation } from '../server/operation'
import { database, goTo, place, replacePlace } from '../shell/route'
import { Table, type Written } from './table'
import { firstOf, type TableInfo, Tables } from './tables'

/** The tables of the database, the objects of one, and one object: `#/shop/data/todoItems/milk`. */
export function Data() {
  const {
    value: tables,
    error,
    reload,
  } = useOperation<readonly TableInfo[]>('table.list', {
    database: database.value,
  })
  const [chosen, key = null] = place.value.rest
  const current = chosen ?? (tables === undefined ? undefined : firstOf(tables))
  const [isNew, setIsNew] = useState(false)
  /** The key of an object that is gone, whose text is added again. */
  const [of, setOf] = useState<string | null>(null)
  const [written, setWritten] = useState<Written | null>(null)
  useEffect(() => setIsNew(false), [current, key])
  if (tables === undefined) return <Failure error={error} onAgain={reload} />
  if (current === undefined) return <NoTables />
  const tell = (written: Written) => {
    setWritten(written)
    reload()
  }
  const add = (of: string | null) => {
    setOf(of)
    setIsNew(true)
  }
  return (
    <div class={`data ${key === null && !isNew ? '' : 'with-panel'}`}>
      <Tables tables={tables} current={current} />
      <Table
        key={current}
        table={current}
        info={tables.find(({ name }) => name === current)}
        written={written?.table === current ? written : null}
        selected={key}
        onOpen={(row) => goTo('data', current, row.key)}
        onMove={(row) => replacePlace({ ...place.value, rest: [current, row.key] })}
        onNew={() => add(null)}
      />
      {isNew && (
        <NewPanel
          table={current}
          of={of}
          onClose={() => setIsNew(false)}
          onAdded={(added) => tell({ table: current, key: added, how: 'added' })}
        />
      )}
      {key !== null && !isNew && (
        <ObjectPanel
          key={`${current} ${key}`}
          table={current}
          objectKey={key}
          onClose={() => goTo('data', current)}
          onWritten={(how) => tell({ table: current, key, how })}
          onNew={() => add(key)}
        />
      )}
    </div>
  )
}

const DECLARING = `{
  "schema": {
    "todoItems": "@id, title, [realmId+done]",
    "todoLists": "@id, title"
  }
}`

function NoTables() {
  return (
    <>
      <PageHead title="Data" />
      <Empty icon="data" title="There is no table yet">
        <p>
          A table is declared by the first application that syncs it, or by a file that{' '}
          <code>satchel import schema.json</code> reads:
        </p>
        <Snippet label="schema.json" text={DECLARING} />
      </Empty>
    </>
  )
}
