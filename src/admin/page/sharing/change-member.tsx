import { useState } from 'preact/hooks'
import { FormDialog } from '../parts/form-dialog'
import { Text } from '../parts/text'
import { call } from '../server/call'
import { database } from '../shell/route'
import { tellDone } from '../shell/toasts'
import { RightsField, type Rights } from './rights-field'
import { describePermissions, type Member } from './rows'

/** Changes the roles and rights of a member, or of a person who is invited. */
export function ChangeMember({
  member,
  roles,
  onMoreRoles,
  onClose,
  onChanged,
}: {
  member: Member
  roles: readonly string[]
  onMoreRoles: (() => void) | undefined
  onClose: () => void
  onChanged: () => void
}) {
  const name = member.name ?? member.userId ?? member.email ?? member.id
  const [rights, setRights] = useState<Rights>({
    roles: member.roles,
    mayManage: member.permissions['manage'] === '*',
  })
  const { manage, ...others } = member.permissions
  // Rights that the fields do not show stay as they are.
  const kept = manage === '*' ? others : member.permissions
  const more = describePermissions(kept)
  const change = async () => {
    await call('member.update', {
      database: database.value,
      member: member.id,
      roles: rights.roles,
      permissions: rights.mayManage ? { ...kept, manage: '*' } : kept,
      ifRevision: member.revision,
    })
    tellDone(`The rights of ${name} were changed`)
    onChanged()
  }
  // A role that was removed is still in the row of the member.
  const names = [...roles, ...member.roles.filter((role) => !roles.includes(role))]
  return (
    <FormDialog title="Change the rights" action="Save" onSubmit={change} onClose={onClose}>
      <p>
        <Text text={name} />
      </p>
      <RightsField roles={names} rights={rights} onChange={setRights} onMore={onMoreRoles} />
      {more.length > 0 && (
        <p class="soft small">
          Also: <Text text={more.join(' · ')} />
        </p>
      )}
    </FormDialog>
  )
}
