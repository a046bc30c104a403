import { DestroyButton } from '../parts/destroy-button'
import { Icon } from '../parts/icon'
import { shortText, Text } from '../parts/text'
import { call } from '../server/call'
import { isReadOnly, may } from '../server/session'
import { database, hrefOf } from '../shell/route'
import { tellDone, tellError } from '../shell/toasts'
import { describePermissions, type Member, MEMBER_STATES } from './rows'

/** The members of a realm, and the invitations to it. */
export function Members({
  members,
  isComplete,
  onChoose,
  onChange,
}: {
  members: readonly Member[]
  isComplete: boolean
  onChoose: (member: Member) => void
  onChange: () => void
}) {
  return (
    <ul class="rows">
      {members.map((member) => (
        <MemberRow
          key={member.id}
          member={member}
          onChoose={() => onChoose(member)}
          onChange={onChange}
        />
      ))}
      {members.length === 0 && isComplete && <li class="soft">Nobody yet.</li>}
    </ul>
  )
}

interface MemberProps {
  readonly member: Member
  readonly onChoose: () => void
  readonly onChange: () => void
}

function MemberRow({ member, ...actions }: MemberProps) {
  const { id: key, userId, email, name, state, roles, permissions } = member
  const id = userId ?? email ?? key
  const rights = [...roles, ...describePermissions(permissions)]
  return (
    <li>
      <span class="list-main">
        <a class="clip" href={hrefOf('people', id)}>
          <Text text={name ?? id} />
        </a>
        <span class="soft small clip">
          {name !== null && name !== id && (
            <>
              <Text text={id} />
              {rights.length > 0 && ' · '}
            </>
          )}
          {rights.length > 0 && <Text text={rights.join(' · ')} />}
        </span>
      </span>
      <span class={`badge ${MEMBER_STATES[state]}`}>{state}</span>
      {!isReadOnly.value && <MemberActions member={member} name={name ?? id} {...actions} />}
    </li>
  )
}

function MemberActions({ member, name, onChoose, onChange }: MemberProps & { name: string }) {
  const { id: key, state } = member
  const resend = async () => {
    await call('member.resend', { database: database.value, member: key })
    tellDone(`The invitation was sent to ${name} again`)
    onChange()
  }
  return (
    <>
      {state === 'invited' && may('member.resend') && (
        <button class="small-button" onClick={() => void resend().catch(tellError)}>
          Send again
        </button>
      )}
      {may('member.update') && (
        <button
          class="plain"
          title="Change the rights"
          aria-label={`Change the rights of ${shortText(name)}`}
          onClick={onChoose}
        >
          <Icon name="edit" />
        </button>
      )}
      {may('member.remove') && (
        <DestroyButton
          label={`Remove ${name}`}
          title={state === 'accepted' ? 'Remove the member' : 'Withdraw the invitation'}
          done={state === 'accepted' ? 'The member was removed' : 'The invitation was withdrawn'}
          name={key}
          shown={name}
          operation="member.remove"
          input={{ database: database.value, member: key }}
          isTyped={false}
          onDone={onChange}
        />
      )}
    </>
  )
}
