import { useState } from 'preact/hooks'
import { usePages } from '../data/use-rows'
import { FormDialog } from '../parts/form-dialog'
import { call } from '../server/call'
import { RealmField } from '../sharing/realm-field'
import { rightsInput, RightsField, type Rights } from '../sharing/rights-field'
import type { Role } from '../sharing/rows'
import { database } from '../shell/route'
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
      <RealmField
        realm={realm}
        none="Choose one"
        isRequired
        onChoose={(chosen) => {
          setRealm(chosen)
          setRights(NONE)
        }}
      />
      {realm !== '' && (
        <RightsField
          roles={roles.rows.map(({ name }) => name)}
          rights={rights}
          onChange={setRights}
          onMore={roles.isMore ? roles.loadMore : undefined}
        />
      )}
    </FormDialog>
  )
}
