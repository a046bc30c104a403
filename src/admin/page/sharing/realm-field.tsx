import { useRef, useState } from 'preact/hooks'
import { usePages } from '../data/use-rows'
import { Failure } from '../parts/failure'
import { visible } from '../parts/visible'
import { database, hrefOf } from '../shell/route'
import type { Realm } from './rows'

/** Chooses a realm of the database, by a part of its name where there are many. */
export function RealmField({
  realm,
  none,
  isRequired = false,
  onChoose,
}: {
  /** The id of the chosen realm; an empty text for none. */
  realm: string
  /** What stands for none. */
  none: string
  isRequired?: boolean
  onChoose: (realm: string) => void
}) {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState<Realm | undefined>(undefined)
  const search = text.trim() === '' ? {} : { search: text.trim() }
  const found = usePages<Realm>('realm.list', 'realms', { database: database.value, ...search })
  const { rows, isComplete, isMore } = found
  const isLong = useRef(false)
  if (isMore) isLong.current = true
  // A realm stays chosen while others are looked for.
  const isListed = chosen === undefined || rows.some((each) => each.realm === chosen.realm)
  return (
    <>
      {isLong.current && (
        <label>
          <span>Find a realm</span>
          <input
            type="search"
            placeholder="A part of its name"
            autocomplete="off"
            spellcheck={false}
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter') event.preventDefault()
            }}
          />
        </label>
      )}
      <label>
        <span>Realm</span>
        <select
          autofocus={isRequired}
          required={isRequired}
          value={realm}
          onChange={({ currentTarget }) => {
            const id = currentTarget.value
            setChosen(id === chosen?.realm ? chosen : rows.find((each) => each.realm === id))
            onChoose(id)
          }}
        >
          <option value="">{none}</option>
          {[...(isListed ? [] : [chosen]), ...rows].map((each) => (
            <option key={each.realm} value={each.realm}>
              {visible(each.name || each.realm)}
            </option>
          ))}
        </select>
      </label>
      <Failure error={found.error} onAgain={found.retry} />
      {isComplete && rows.length === 0 && text === '' && isRequired && (
        <p class="soft small">
          There is no realm yet: add one in <a href={hrefOf('sharing')}>Sharing</a>.
        </p>
      )}
      {isComplete && rows.length === 0 && text !== '' && (
        <p class="soft small">No realm matches.</p>
      )}
      {isMore && text !== '' && (
        <p class="soft small">These are the first that match: type more of the name.</p>
      )}
    </>
  )
}
