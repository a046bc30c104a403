import { moveByArrows } from '../parts/arrow-keys'
import { shortText, Text } from '../parts/text'
import { hrefOf } from '../shell/route'

export interface TableInfo {
  readonly name: string
  /** Counted up to a bound; with `hasMore` there are more. */
  readonly objects: number
  readonly hasMore: boolean
}

/** The tables of sharing, which every database has. */
const OF_SHARING = new Set(['realms', 'members', 'roles'])

/** The table that is shown at first; undefined where there are only those of sharing. */
export function firstOf(tables: readonly TableInfo[]): string | undefined {
  return tables.find(({ name }) => !OF_SHARING.has(name))?.name
}

/** The tables of the database with how many objects they have; those of sharing are the last. */
export function Tables({ tables, current }: { tables: readonly TableInfo[]; current: string }) {
  const own = tables.filter(({ name }) => !OF_SHARING.has(name))
  const shared = tables.filter(({ name }) => OF_SHARING.has(name))
  return (
    <nav class="tables" aria-label="Tables" onKeyDown={moveByArrows}>
      <Links tables={own} current={current} />
      {shared.length > 0 && <hr />}
      <Links tables={shared} current={current} />
    </nav>
  )
}

function Links({ tables, current }: { tables: readonly TableInfo[]; current: string }) {
  return (
    <>
      {tables.map(({ name, objects, hasMore }) => (
        <a
          key={name}
          href={hrefOf('data', name)}
          aria-current={name === current ? 'true' : undefined}
          title={shortText(name)}
        >
          <span class="clip">
            <Text text={name} />
          </span>
          <span class="number soft">
            {objects.toLocaleString()}
            {hasMore && '+'}
          </span>
        </a>
      ))}
    </>
  )
}
