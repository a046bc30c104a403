import { useState } from 'preact/hooks'
import type { Row } from '../data/columns'
import type { useRows } from '../data/use-rows'
import { ExplainDialog } from '../explain/explain-dialog'
import { Failure } from '../parts/failure'
import { shortText, Text } from '../parts/text'
import { hrefOf } from '../shell/route'
import { Value } from '../value/cell'

interface SeenRowsProps {
  readonly user: string
  readonly table: string
  readonly found: ReturnType<typeof useRows>
  /** The other user, with the keys of the rows of that user as soon as all are known. */
  readonly others:
    | { readonly user: string; readonly keys: ReadonlySet<string> | undefined }
    | undefined
}

/** The objects that a user sees. Those that another one does not see are marked. */
export function SeenRows({ user, table, found, others }: SeenRowsProps) {
  const { rows, isComplete, isMore, error, loadMore, retry } = found
  const [asked, setAsked] = useState<string | null>(null)
  const isOnly = (key: string) => others?.keys !== undefined && !others.keys.has(key)
  const count = rows.filter(({ key }) => isOnly(key)).length
  return (
    <section class="seen-rows" aria-label={shortText(user)}>
      <header>
        <h2 class="clip">
          <Text text={user} />
        </h2>
        <span class="soft small number">
          {rows.length.toLocaleString()}
          {isComplete ? '' : '+'} {rows.length === 1 ? 'object' : 'objects'}
          {count > 0 && `, ${count.toLocaleString()} alone`}
        </span>
      </header>
      <Failure error={error} onAgain={retry} />
      <ul class="rows">
        {rows.map((row) => (
          <li key={row.key} class={isOnly(row.key) ? 'only' : ''}>
            <span class="list-main">
              <a class="clip mono" href={hrefOf('data', table, row.key)}>
                <Text text={row.key} />
              </a>
              <span class="clip soft small">
                <Value value={summaryOf(row)} />
              </span>
            </span>
            {isOnly(row.key) && (
              <button class="small-button" onClick={() => setAsked(row.key)}>
                <span>
                  Why not <Text text={others?.user.split('@')[0] ?? ''} />?
                </span>
              </button>
            )}
          </li>
        ))}
        {rows.length === 0 && isComplete && <li class="soft">Nothing in this table.</li>}
      </ul>
      {isMore && (
        <button class="more" onClick={loadMore}>
          More
        </button>
      )}
      {asked !== null && others !== undefined && (
        <ExplainDialog
          question={{ as: others.user, do: 'read', table, key: asked, realm: null, property: null }}
          onClose={() => setAsked(null)}
        />
      )}
    </section>
  )
}

/** The value without the properties that have places of their own. */
function summaryOf({ value }: Row): object | null {
  if (value === null) return null
  const { id: _, realmId: __, owner: ___, ...rest } = value
  return rest
}
