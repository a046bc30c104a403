import { useEffect, useId, useState } from 'preact/hooks'
import { usePaused } from '../parts/paused-search'
import { useOperation } from '../server/operation'
import { database } from '../shell/route'
import type { UserPage } from '../people/user'

interface UserFieldProps {
  readonly label: string
  readonly user: string
  readonly isOff?: boolean
  readonly onChoose: (user: string) => void
}

/** A field for a user, which suggests those that match. */
export function UserField({ label, user, isOff = false, onChoose }: UserFieldProps) {
  const [asked, setAsked] = useState(user)
  const [text, setText] = usePaused(asked, setAsked)
  const id = useId()
  useEffect(() => setText(user), [user])
  const query = new URLSearchParams({ search: asked.trim(), limit: '8' }).toString()
  const { value } = useOperation<UserPage>('user.list', { database: database.value, query })
  return (
    <form
      class="inline-field"
      onSubmit={(event) => {
        event.preventDefault()
        onChoose(text.trim())
      }}
    >
      <label>
        <span>{label}</span>{' '}
        <input
          list={id}
          value={text}
          disabled={isOff}
          placeholder="alice@example.com"
          spellcheck={false}
          autocomplete="off"
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onChange={({ currentTarget }) => onChoose(currentTarget.value.trim())}
        />
      </label>
      <datalist id={id}>
        {value?.data.map(({ userId }) => (
          <option key={userId} value={userId} />
        ))}
      </datalist>
    </form>
  )
}
