import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/form-dialog'
import { call } from '../server/call'
import { database } from '../shell/route'
import { tellDone } from '../shell/toasts'
import { rightsInput, RightsField, type Rights } from './rights-field'

/** Invites a person to a realm, or makes a user a member. */
export function NewMember({
  realmId,
  roles,
  onMoreRoles,
  onClose,
  onAdded,
}: {
  realmId: string
  roles: readonly string[]
  onMoreRoles: (() => void) | undefined
  onClose: () => void
  onAdded: () => void
}) {
  const [who, setWho] = useState('')
  const [isUser, setIsUser] = useState(false)
  const [name, setName] = useState('')
  const [rights, setRights] = useState<Rights>({ roles: [], mayManage: roles.length === 0 })
  const add = async () => {
    const id = who.trim()
    await call('member.add', {
      database: database.value,
      realm: realmId,
      ...(isUser ? { user: id } : { email: id }),
      ...(name.trim() === '' ? {} : { name: name.trim() }),
      ...rightsInput(rights),
    })
    tellDone(isUser ? `${id} is a member` : `An invitation is on its way to ${id}`)
    onAdded()
  }
  const person = {
    autofocus: true,
    required: true,
    spellcheck: false,
    value: who,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) =>
      setWho(currentTarget.value),
  }
  return (
    <FormDialog
      title="Add to the realm"
      action={isUser ? 'Add' : 'Invite'}
      onSubmit={add}
      onClose={onClose}
    >
      <label>
        <span>{isUser ? 'User' : 'E-mail address'}</span>
        {isUser ? <input {...person} /> : <input type="email" {...person} />}
      </label>
      <label class="check">
        <input type="checkbox" checked={isUser} onChange={() => setIsUser(!isUser)} />
        <span>Add a user at once, without an invitation</span>
      </label>
      <label>
        <span>Name</span>
        <input value={name} onInput={({ currentTarget }) => setName(currentTarget.value)} />
      </label>
      <RightsField roles={roles} rights={rights} onChange={setRights} onMore={onMoreRoles} />
    </FormDialog>
  )
}
