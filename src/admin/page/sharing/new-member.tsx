import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/form-dialog'
import { Text } from '../parts/text'
import { call } from '../server/call'
import { database } from '../shell/route'
import { tellDone } from '../shell/toasts'

/** Invites a person to a realm. */
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
  const [email, setEmail] = useState('')
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [mayManage, setMayManage] = useState(roles.length === 0)
  const add = async () => {
    await call('object.put', {
      database: database.value,
      table: 'members',
      value: {
        realmId,
        email: email.trim(),
        ...(name.trim() === '' ? {} : { name: name.trim() }),
        invite: true,
        roles: chosen,
        ...(mayManage ? { permissions: { manage: '*' } } : {}),
      },
    })
    tellDone(`An invitation is on its way to ${email.trim()}`)
    onAdded()
  }
  const toggle = (role: string) =>
    setChosen(chosen.includes(role) ? chosen.filter((each) => each !== role) : [...chosen, role])
  return (
    <FormDialog title="Invite to the realm" action="Invite" onSubmit={add} onClose={onClose}>
      <label>
        <span>E-mail address</span>
        <input
          autofocus
          required
          type="email"
          value={email}
          onInput={({ currentTarget }) => setEmail(currentTarget.value)}
        />
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
