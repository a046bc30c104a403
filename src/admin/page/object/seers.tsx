import { useState } from 'preact/hooks'
import { Failure } from '../parts/failure'
import { call } from '../server/call'
import { useOperation } from '../server/operation'
import { database, hrefOf } from '../shell/route'
import { tellError } from '../shell/toasts'
import { shortText, Text } from '../parts/text'

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
  revision,
  realmId,
  onShare,
}: {
  table: string
  objectKey: string
  /** That of the object, as far as it is known. */
  revision: number | undefined
  realmId: string | undefined
  /** Moves the object to a realm with members; undefined where that is not allowed. */
  onShare: (() => void) | undefined
}) {
  const input = { database: database.value, table, key }
  const { value, error } = useOperation<SeenBy>('object.seers', input, { version: revision })
  /** The pages after the first one, as it was then. */
  const [later, setLater] = useState<{ readonly first: SeenBy; readonly more: SeenBy } | null>(null)
  if (value === undefined) return <Failure error={error} />
  const { seers: rest, cursor } = later?.first === value ? later.more : { ...value, seers: [] }
  const seers = [...value.seers, ...rest]
  const loadMore = async () => {
    const page = await call<SeenBy>('object.seers', { ...input, cursor })
    setLater({ first: value, more: { ...page, seers: [...rest, ...page.seers] } })
  }
  return (
    <>
      <ul class="rows">
        {[...reasonsByUser(seers)].map(([userId, reasons]) => (
          <SeerRow key={userId} userId={userId} reasons={reasons} />
        ))}
        {value.isPublic && <li>Everybody sees it: it is in the public realm.</li>}
        {seers.length === 0 && !value.isPublic && cursor === null && (
          <li class="soft">No user sees it.</li>
        )}
      </ul>
      {cursor !== null && (
        <button class="more" onClick={() => void loadMore().catch(tellError)}>
          More
        </button>
      )}
      {realmId?.startsWith('rlm') === true && !value.isPublic && (
        <p>
          <a href={hrefOf('sharing', realmId)}>Invite others to its realm</a>
        </p>
      )}
      {realmId?.startsWith('rlm') === false && onShare !== undefined && (
        <button onClick={onShare}>Share it</button>
      )}
    </>
  )
}

/** An owner is usually a member as well. */
function reasonsByUser(seers: readonly Seer[]): ReadonlyMap<string, readonly Seer[]> {
  return Map.groupBy(seers, ({ userId }) => userId)
}

function SeerRow({ userId, reasons }: { userId: string; reasons: readonly Seer[] }) {
  const rows = reasons.flatMap(({ row }) => (row === null ? [] : [row]))
  return (
    <li>
      <span class="list-main">
        <a class="clip" href={hrefOf('people', userId)}>
          <Text text={userId} />
        </a>
        <span class="soft small clip" title={shortText(rows.join('\n'))}>
          <Text text={reasons.map(reasonOf).join(', ')} />
        </span>
      </span>
      <span class="badge">reads</span>
      {reasons.some(({ mayUpdate }) => mayUpdate) && <span class="badge info">changes</span>}
      {reasons.some(({ mayDelete }) => mayDelete) && <span class="badge warn">deletes</span>}
    </li>
  )
}

function reasonOf({ by, roles }: Seer): string {
  return roles.length === 0 ? by : `${by} as ${roles.join(', ')}`
}
