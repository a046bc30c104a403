import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/form-dialog'
import { call } from '../server/call'
import { database, hrefOf } from '../shell/route'
import { tellDone } from '../shell/toasts'
import type { User } from './user'

/** Adds a user before their first login. */
export function NewUser({
  onClose,
  onAdded,
}: {
  onClose: () => void
  onAdded: (userId: string) => void
}) {
  const [userId, setUserId] = useState('')
  const [name, setName] = useState('')
  const [type, setType] = useState('prod')
  const add = async () => {
    const added = await call<User>('user.write', {
      database: database.value,
      user: JSON.stringify({ userId: userId.trim(), type }),
      isNew: true,
      ...(name.trim() === '' ? {} : { displayName: name.trim() }),
      ...(userId.includes('@') ? { email: userId.trim() } : {}),
    })
    tellDone(`${added.userId} was added`)
    onAdded(added.userId)
  }
  return (
    <FormDialog title="Add a user" action="Add" onSubmit={add} onClose={onClose}>
      <p class="soft small">
        No mail is sent. To invite a person by mail, open a realm in{' '}
        <a href={hrefOf('sharing')}>Sharing</a>, and choose Add and then Invite.
      </p>
      <label>
        <span>E-mail address or another id</span>
        <input
          autofocus
          required
          value={userId}
          spellcheck={false}
          autocomplete="off"
          onInput={({ currentTarget }) => setUserId(currentTarget.value)}
        />
      </label>
      <label>
        <span>Name</span>
        <input value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
      </label>
      <label>
        <span>Licence</span>
        <select value={type} onChange={({ currentTarget }) => setType(currentTarget.value)}>
          <option value="prod">Production</option>
          <option value="eval">Evaluation</option>
          <option value="demo">Demo</option>
        </select>
      </label>
    </FormDialog>
  )
}
