import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/form-dialog'
import { Text } from '../parts/text'
import { call } from '../server/call'
import { database } from '../shell/route'
import { tellDone } from '../shell/toasts'

/** Invites a person to a realm, or makes a user a member. */
export function NewMember({
  realmId,
  roles,
  onClose,
  onAdded,
}: {
  realmId: string
  roles: readonly string[]
  onClose: () => void
  onAdded: () => void
}) {
  const [who, setWho] = useState('')
  const [isUser, setIsUser] = useState(false)
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [mayManage, setMayManage] = useState(roles.length === 0)
  const add = async () => {
    const id = who.trim()
    await call('member.add', {
      database: database.value,
      realm: realmId,
      ...(isUser ? { user: id } : { email: id }),
      ...(name.trim() === '' ? {} : { name: name.trim() }),
      roles: chosen,
      ...(mayManage ? { permissions: { manage: '*' } } : {}),
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
  const toggle = (role: string) =>
    setChosen(chosen.includes(role) ? chosen.filter((each) => each !== role) : [...chosen, role])
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
      <fieldset class="checks">
        <legend>Rights</legend>
        {roles.map((role) => (
          <label key={role} class="check">
            <input type="checkbox" checked={chosen.includes(role)} onChange={() => toggle(role)} />
            <span>
              <Text text={role} />
            </span>
          </label>
        ))}
        <label class="check">
          <input type="checkbox" checked={mayManage} onChange={() => setMayManage(!mayManage)} />
          <span>May change everything in the realm</span>
        </label>
      </fieldset>
    </FormDialog>
  )
}
