import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/form-dialog'
import { call } from '../server/call'
import { database } from '../shell/route'
import { tellDone } from '../shell/toasts'
import type { Realm } from './rows'

/** Adds a realm. */
export function NewRealm({
  onClose,
  onAdded,
}: {
  onClose: () => void
  onAdded: (realmId: string) => void
}) {
  const add = async ({ name, owner }: Named) => {
    const input = { database: database.value, name, owner }
    const added = await call<{ realm: string }>('realm.add', input)
    tellDone(`The realm ${name} was added`)
    onAdded(added.realm)
  }
  return (
    <RealmForm title="Add a realm" action="Add" isNameRequired submit={add} onClose={onClose} />
  )
}

/** Changes the name and the owner of a realm. */
export function ChangeRealm({
  realm: { realm, name, owner },
  onClose,
  onChanged,
}: {
  realm: Realm
  onClose: () => void
  onChanged: () => void
}) {
  const stored = { name: name ?? '', owner: owner ?? '' }
  const change = async (wanted: Named) => {
    await call('realm.update', {
      database: database.value,
      realm,
      ...(wanted.name === stored.name ? {} : { name: wanted.name }),
      ...(wanted.owner === stored.owner ? {} : { owner: wanted.owner }),
    })
    tellDone('The realm was changed')
    onChanged()
  }
  return (
    <RealmForm
      title="Change the realm"
      action="Save"
      stored={stored}
      isNameRequired={name !== null}
      submit={change}
      onClose={onClose}
    />
  )
}

interface Named {
  readonly name: string
  readonly owner: string
}

function RealmForm({
  title,
  action,
  stored = { name: '', owner: '' },
  isNameRequired,
  submit,
  onClose,
}: {
  title: string
  action: string
  stored?: Named
  isNameRequired: boolean
  submit: (wanted: Named) => Promise<void>
  onClose: () => void
}) {
  const [name, setName] = useState(stored.name)
  const [owner, setOwner] = useState(stored.owner)
  const send = () => submit({ name: name.trim(), owner: owner.trim() })
  return (
    <FormDialog title={title} action={action} onSubmit={send} onClose={onClose}>
      <label>
        <span>Name</span>
        <input
          autofocus
          required={isNameRequired}
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
