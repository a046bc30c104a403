import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/form-dialog'
import { call } from '../server/call'
import { database } from '../shell/route'
import { tellDone } from '../shell/toasts'

/** Adds a realm. */
export function NewRealm({
  onClose,
  onAdded,
}: {
  onClose: () => void
  onAdded: (realmId: string) => void
}) {
  const [name, setName] = useState('')
  const [owner, setOwner] = useState('')
  const add = async () => {
    const added = await call<{ realm: string }>('realm.add', {
      database: database.value,
      name: name.trim(),
      owner: owner.trim(),
    })
    tellDone(`The realm ${name.trim()} was added`)
    onAdded(added.realm)
  }
  return (
    <FormDialog title="Add a realm" action="Add" onSubmit={add} onClose={onClose}>
      <label>
        <span>Name</span>
        <input
          autofocus
          required
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
      </label>
      <label>
        <span>Owner</span>
        <input
          placeholder="nobody"
          autocomplete="off"
          value={owner}
          onInput={({ currentTarget }) => setOwner(currentTarget.value)}
        />
      </label>
    </FormDialog>
  )
}
