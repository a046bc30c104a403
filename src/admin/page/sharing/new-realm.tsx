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
  const add = async () => {
    const added = await call<{ key: string }>('object.put', {
      database: database.value,
      table: 'realms',
      value: { name: name.trim() },
    })
    tellDone(`The realm ${name.trim()} was added`)
    onAdded(added.key)
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
    </FormDialog>
  )
}
