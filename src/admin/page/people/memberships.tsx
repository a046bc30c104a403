import { useRows } from '../data/use-rows'
import { Failure } from '../parts/failure'
import { Text } from '../parts/text'
import { MEMBER_STATES, readMember } from '../sharing/rows'
import { database, hrefOf } from '../shell/route'

/** The realms that a user is a member of, or invited to. */
export function Memberships({ userId }: { userId: string }) {
  const { rows, isLoading, error } = useRows({
    database: database.value,
    table: 'members',
    newestFirst: true,
    filter: new URLSearchParams({ userId }).toString(),
  })
  return (
    <section class="part">
      <h3>Memberships</h3>
      <Failure error={error} />
      <ul class="rows">
        {rows.map(readMember).map(({ key, realmId, state, roles }) => (
          <li key={key}>
            <a class="clip" href={hrefOf('sharing', realmId)}>
              <Text text={realmId} />
            </a>
            <span class={`badge ${MEMBER_STATES[state]}`}>{state}</span>
            {roles.map((role) => (
              <span key={role} class="chip">
                <Text text={role} />
              </span>
            ))}
          </li>
        ))}
        {rows.length === 0 && !isLoading && <li class="soft">None but the private realm.</li>}
      </ul>
    </section>
  )
}
