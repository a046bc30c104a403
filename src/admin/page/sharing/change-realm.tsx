import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/form-dialog'
import { call } from '../server/call'
import { database } from '../shell/route'
import { tellDone } from '../shell/toasts'
import type { Realm } from './rows'

/** Changes the name and the owner of a realm. */
export function ChangeRealm({
  realm: { realm, ...stored },
  onClose,
  onChanged,
}: {
  realm: Realm
  onClose: () => void
  onChanged: () => void
}) {
  const [name, setName] = useState(stored.name ?? '')
  const [owner, setOwner] = useState(stored.owner ?? '')
  const change = async () => {
    await call('realm.update', {
      database: database.value,
      realm,
      ...(name.trim() === (stored.name ?? '') ? {} : { name: name.trim() }),
      ...(owner.trim() === (stored.owner ?? '') ? {} : { owner: owner.trim() }),
    })
    tellDone('The realm was changed')
    onChanged()
  }
  return (
    <FormDialog title="Change the realm" action="Save" onSubmit={change} onClose={onClose}>
      <label>
        <span>Name</span>
        <input
          autofocus
          required={stored.name !== null}
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
