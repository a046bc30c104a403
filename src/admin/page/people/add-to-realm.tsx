import { useState } from 'preact/hooks'
import { usePages } from '../data/use-rows'
import { FormDialog } from '../parts/form-dialog'
import { visible } from '../parts/visible'
import { call } from '../server/call'
import { rightsInput, RightsField, type Rights } from '../sharing/rights-field'
import type { Realm, Role } from '../sharing/rows'
import { database, hrefOf } from '../shell/route'
import { tellDone } from '../shell/toasts'

const NONE: Rights = { roles: [], mayManage: false }

/** Makes a user a member of a realm at once. */
export function AddToRealm({
  userId,
  onClose,
  onAdded,
}: {
  userId: string
  onClose: () => void
  onAdded: () => void
}) {
  const input = { database: database.value }
  const realms = usePages<Realm>('realm.list', 'realms', input)
  const [realm, setRealm] = useState('')
  const roles = usePages<Role>('role.list', 'roles', realm === '' ? null : { ...input, realm })
  const [rights, setRights] = useState(NONE)
  const add = async () => {
    await call('member.add', { ...input, realm, user: userId, ...rightsInput(rights) })
    tellDone(`${userId} is a member`)
    onAdded()
  }
  return (
    <FormDialog title="Add to a realm" action="Add" onSubmit={add} onClose={onClose}>
      <label>
        <span>Realm</span>
        <select
          autofocus
          required
          value={realm}
          onChange={({ currentTarget }) => {
            setRealm(currentTarget.value)
            setRights(NONE)
          }}
        >
          <option value="">Choose one</option>
          {realms.rows.map((each) => (
            <option key={each.realm} value={each.realm}>
              {visible(each.name || each.realm)}
            </option>
          ))}
        </select>
      </label>
      {!realms.isLoading && realms.rows.length === 0 && (
        <p class="soft small">
          There is no realm yet: add one in <a href={hrefOf('sharing')}>Sharing</a>.
        </p>
      )}
      {realm !== '' && (
        <RightsField
          roles={roles.rows.map(({ name }) => name)}
          rights={rights}
          onChange={setRights}
        />
      )}
    </FormDialog>
  )
}
