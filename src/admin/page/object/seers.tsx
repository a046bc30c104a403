import { Failure } from '../parts/failure'
import { useOperation } from '../server/operation'
import { database, hrefOf } from '../shell/route'
import { Text } from '../parts/text'

interface Seer {
  readonly userId: string
  /** `member`, `owner of the realm`, `private realm` or `invitation`. */
  readonly by: string
  readonly row: string | null
  readonly roles?: readonly string[]
}

interface SeenBy {
  /** Everybody sees it, also without a login. */
  readonly isPublic: boolean
  readonly seers: readonly Seer[]
  /** Null when these are all. */
  readonly cursor: string | null
}

/** The users who see an object, each with the row that grants it. */
export function Seers({ table, objectKey: key }: { table: string; objectKey: string }) {
  const { value, error } = useOperation<SeenBy>('object.seers', {
    database: database.value,
    table,
    key,
  })
  if (value === undefined) return <Failure error={error} />
  return (
    <ul class="rows">
      {value.seers.map(({ userId, by, row, roles }) => (
        <li key={`${userId} ${row}`}>
          <a class="clip" href={hrefOf('people', userId)}>
            <Text text={userId} />
          </a>
          <span class="soft small">
            {by}
            {row === null ? null : (
              <>
                {' '}
                <code>{row}</code>
              </>
            )}
            {roles !== undefined && roles.length > 0 && ` as ${roles.join(', ')}`}
          </span>
        </li>
      ))}
      {value.isPublic && <li>Everybody sees it: it is in the public realm.</li>}
      {value.cursor !== null && <li class="soft">There are more members.</li>}
      {value.seers.length === 0 && !value.isPublic && <li class="soft">No user sees it.</li>}
    </ul>
  )
}
