import { Failure } from '../parts/failure'
import { useOperation } from '../server/operation'
import { database, hrefOf } from '../shell/route'
import { Text } from '../parts/text'

interface Seer {
  readonly userId: string
  /** `member`, `owner of the realm`, `private realm` or `invitation`. */
  readonly by: string
  readonly row: string | null
  readonly roles: readonly string[]
  readonly mayUpdate: boolean
  readonly mayDelete: boolean
}

interface SeenBy {
  /** Everybody sees it, also without a login. */
  readonly isPublic: boolean
  readonly seers: readonly Seer[]
  /** Null when these are all. */
  readonly cursor: string | null
}

/** The users who see an object, each with the row that grants it. */
export function Seers({
  table,
  objectKey: key,
  realmId,
}: {
  table: string
  objectKey: string
  realmId: string | undefined
}) {
  const { value, error } = useOperation<SeenBy>('object.seers', {
    database: database.value,
    table,
    key,
  })
  if (value === undefined) return <Failure error={error} />
  return (
    <>
      <ul class="rows">
        {value.seers.map((seer) => (
          <SeerRow key={`${seer.userId} ${seer.row}`} seer={seer} />
        ))}
        {value.isPublic && <li>Everybody sees it: it is in the public realm.</li>}
        {value.cursor !== null && <li class="soft">There are more members.</li>}
        {value.seers.length === 0 && !value.isPublic && <li class="soft">No user sees it.</li>}
      </ul>
      {realmId?.startsWith('rlm') === true && !value.isPublic && (
        <p>
          <a href={hrefOf('sharing', realmId)}>Invite others to its realm</a>
        </p>
      )}
    </>
  )
}

function SeerRow({ seer }: { seer: Seer }) {
  const { userId, by, row, roles, mayUpdate, mayDelete } = seer
  return (
    <li>
      <span class="list-main">
        <a class="clip" href={hrefOf('people', userId)}>
          <Text text={userId} />
        </a>
        <span class="soft small clip" title={row === null ? '' : `row ${row}`}>
          {by}
          {roles.length > 0 && (
            <>
              {' as '}
              <Text text={roles.join(', ')} />
            </>
          )}
        </span>
      </span>
      <span class="badge">reads</span>
      {mayUpdate && <span class="badge info">changes</span>}
      {mayDelete && <span class="badge warn">deletes</span>}
    </li>
  )
}
