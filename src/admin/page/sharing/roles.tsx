import { useState } from 'preact/hooks'
import { findFault } from '../object/json-fault'
import { DestroyButton } from '../parts/destroy-button'
import { FormDialog } from '../parts/form-dialog'
import { Icon } from '../parts/icon'
import { shortText, Text } from '../parts/text'
import { call } from '../server/call'
import { isReadOnly, may } from '../server/session'
import { database } from '../shell/route'
import { tellDone } from '../shell/toasts'
import { describePermissions, type Role } from './rows'

/** The roles of a realm. */
export function Roles({
  roles,
  isComplete,
  onChoose,
  onChange,
}: {
  roles: readonly Role[]
  isComplete: boolean
  onChoose: (role: Role) => void
  onChange: () => void
}) {
  const isWriting = !isReadOnly.value
  return (
    <ul class="rows">
      {roles.map((role) => {
        const { realm, name, displayName, permissions } = role
        return (
          <li key={name}>
            <span class="list-main">
              <span class="clip">
                <Text text={displayName ?? name} />
              </span>
              <span class="soft small clip">
                <Text text={describePermissions(permissions).join(' · ') || 'no permissions'} />
              </span>
            </span>
            {isWriting && may('role.put') && (
              <button
                class="plain"
                title="Change"
                aria-label={`Change ${shortText(name)}`}
                onClick={() => onChoose(role)}
              >
                <Icon name="edit" />
              </button>
            )}
            {isWriting && may('role.remove') && (
              <DestroyButton
                label={`Remove ${name}`}
                title="Remove the role"
                done="The role was removed"
                text="Its members keep the name, which then gives them nothing."
                name={name}
                operation="role.remove"
                input={{ database: database.value, realm, name }}
                isTyped={false}
                onDone={onChange}
              />
            )}
          </li>
        )
      })}
      {roles.length === 0 && isComplete && <li class="soft">None of its own.</li>}
    </ul>
  )
}

/** Adds a role, or changes the permissions of one. */
export function RoleDialog({
  realmId,
  role,
  onClose,
  onSaved,
}: {
  realmId: string
  role: Role | null
  onClose: () => void
  onSaved: () => void
}) {
  const [name, setName] = useState('')
  const [permissions, setPermissions] = useState(
    JSON.stringify(role?.permissions ?? EXAMPLE, null, 2),
  )
  const save = async () => {
    const fault = findFault(permissions)
    if (fault !== undefined) throw new Error(fault.sentence)
    const named = role?.name ?? name.trim()
    await call('role.put', {
      database: database.value,
      realm: realmId,
      name: named,
      permissions: JSON.parse(permissions) as unknown,
      ifRevision: role?.revision ?? 0,
    })
    tellDone(`The role ${named} was saved`)
    onSaved()
  }
  return (
    <FormDialog
      title={role === null ? 'Add a role' : 'Change the role'}
      action="Save"
      onSubmit={save}
      onClose={onClose}
    >
      {role === null ? (
        <label>
          <span>Name</span>
          <input
            autofocus
            required
            spellcheck={false}
            autocomplete="off"
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        </label>
      ) : (
        <p>
          <Text text={role.name} />
        </p>
      )}
      <label>
        <span>Permissions as JSON</span>
        <textarea
          required
          class="mono"
          rows={8}
          spellcheck={false}
          value={permissions}
          onInput={({ currentTarget }) => setPermissions(currentTarget.value)}
        />
      </label>
      <p class="soft small">
        <a href="docs/sharing" target="_blank" rel="noopener">
          What permissions mean
        </a>
      </p>
    </FormDialog>
  )
}

const EXAMPLE = { add: ['todoItems'], update: { todoItems: ['done'] } }
