import { hrefOf } from '../shell/route'
import { Text } from '../parts/text'

export interface TableInfo {
  readonly name: string
  /** Counted up to a bound; with `hasMore` there are more. */
  readonly objects: number
  readonly hasMore: boolean
}

/** The tables of the database with how many objects they have. */
export function Tables({ tables, current }: { tables: readonly TableInfo[]; current: string }) {
  return (
    <nav class="tables" aria-label="Tables">
      {tables.map(({ name, objects, hasMore }) => (
        <a
          key={name}
          href={hrefOf('data', name)}
          aria-current={name === current ? 'true' : undefined}
          title={name}
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
    </nav>
  )
}
