import { useState } from 'preact/hooks'
import { usePages } from '../data/use-rows'
import { Failure } from '../parts/failure'
import { Section } from '../parts/section'
import { Text } from '../parts/text'
import { isReadOnly, may } from '../server/session'
import { type Member, MEMBER_STATES } from '../sharing/rows'
import { database, hrefOf } from '../shell/route'
import { AddToRealm } from './add-to-realm'

/** The realms that a user owns, is a member of, or is invited to. */
export function Memberships({ userId }: { userId: string }) {
  const [isAdding, setIsAdding] = useState(false)
  const list = usePages<Member>('member.list', 'members', {
    database: database.value,
    user: userId,
  })
  const { error, reload, retry, isComplete, isMore, loadMore } = list
  const realms = list.rows.filter(({ isOwner, realmId }, _, all) => {
    // The row of an owner among the members says no more than the realm itself.
    return isOwner || !all.some((each) => each.isOwner && each.realmId === realmId)
  })
  return (
    <Section
      title="Memberships"
      level={3}
      add="Add to a realm"
      onAdd={
        may('member.add') && may('realm.list') && !isReadOnly.value && (() => setIsAdding(true))
      }
    >
      <Failure error={error} onAgain={retry} />
      <ul class="rows">
        {realms.map(({ id, isOwner, realmId, realmName, state, roles }) => (
          <li key={id}>
            <a class="list-main" href={hrefOf('sharing', realmId)}>
              <span class="clip">
                <Text text={realmName ?? realmId} />
              </span>
            </a>
            {roles.map((role) => (
              <span key={role} class="chip">
                <Text text={role} />
              </span>
            ))}
            {isOwner ? (
              <span class="badge">owner</span>
            ) : (
              <span class={`badge ${MEMBER_STATES[state]}`}>{state}</span>
            )}
          </li>
        ))}
        {realms.length === 0 && isComplete && <li class="soft">None but the private realm.</li>}
      </ul>
      {isMore && (
        <button class="more" onClick={loadMore}>
          More
        </button>
      )}
      {isAdding && (
        <AddToRealm
          userId={userId}
          onClose={() => setIsAdding(false)}
          onAdded={() => {
            setIsAdding(false)
            reload()
          }}
        />
      )}
    </Section>
  )
}
