import { Failure } from '../parts/failure'
import { Text } from '../parts/text'
import { useOperation } from '../server/operation'
import { may } from '../server/session'
import { MEMBER_STATES, type MemberInfo } from '../sharing/rows'
import { database, hrefOf } from '../shell/route'

/** The realms that a user is a member of, or invited to. */
export function Memberships({ userId }: { userId: string }) {
  const { value, error } = useOperation<{ readonly members: readonly MemberInfo[] }>(
    'member.list',
    may('member.list') ? { database: database.value, user: userId } : null,
  )
  if (!may('member.list')) return null
  return (
    <section class="part">
      <h3>Memberships</h3>
      <Failure error={error} />
      <ul class="rows">
        {value?.members.map(({ id, realmId, realmName, state, roles }) => (
          <li key={id}>
            <a class="clip" href={hrefOf('sharing', realmId)}>
              <Text text={realmName ?? realmId} />
            </a>
            <span class={`badge ${MEMBER_STATES[state] ?? ''}`}>{state}</span>
            {roles.map((role) => (
              <span key={role} class="chip">
                <Text text={role} />
              </span>
            ))}
          </li>
        ))}
        {value?.members.length === 0 && <li class="soft">None but their private realm.</li>}
      </ul>
    </section>
  )
}
