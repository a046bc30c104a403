import { Ago } from '../parts/ago'
import { Copy } from '../parts/copy'
import { DestroyButton } from '../parts/destroy-button'
import { Fact, Facts } from '../parts/facts'
import { Failure } from '../parts/failure'
import { Panel } from '../parts/panel'
import { Text } from '../parts/text'
import { call } from '../server/call'
import { useOperation } from '../server/operation'
import { isReadOnly, may } from '../server/session'
import { database, hrefOf } from '../shell/route'
import { tellDone, tellError } from '../shell/toasts'
import { Tree } from '../value/tree'
import { propertiesOf } from '../value/typed'
import { Devices } from './devices'
import { Memberships } from './memberships'
import { licenceOf, nameOf, type User } from './user'

/** A user: the licence, the realms they are a member of, their devices. */
export function UserPanel({
  userId,
  onChange,
  onDelete,
  onClose,
}: {
  userId: string
  onChange: () => void
  onDelete: () => void
  onClose: () => void
}) {
  const input = { database: database.value, user: userId }
  const { value: user, error, reload } = useOperation<User>('user.show', input)
  const change = async (changes: object, done: string) => {
    const change = JSON.stringify({ userId, ...changes })
    await call('user.write', { database: database.value, user: change, isNew: false })
    tellDone(done)
    reload()
    onChange()
  }
  const isWriting = may('user.write') && !isReadOnly.value
  return (
    <Panel
      title={user === undefined ? userId : nameOf(user)}
      onClose={onClose}
      actions={<Copy text={userId} label="Copy the id" />}
    >
      <Failure error={error} onAgain={reload} />
      {user !== undefined && (
        <>
          <Facts>
            <Fact name="Id">
              <Text text={user.userId} />
            </Fact>
            <Fact name="Licence">
              <Licence user={user} />
              {user.validUntil !== undefined && (
                <span class="soft">
                  {' '}
                  until <Ago at={user.validUntil} />
                </span>
              )}
            </Fact>
            <Fact name="Last login">
              <Ago at={user.lastLogin} />
            </Fact>
            <Fact name="Created">
              <Ago at={user.created} />
            </Fact>
          </Facts>
          {isWriting && (
            <div class="actions">
              <label class="inline-field">
                <span>Licence</span>
                <select
                  value={user.type}
                  onChange={({ currentTarget }) =>
                    void change({ type: currentTarget.value }, 'The licence was changed').catch(
                      tellError,
                    )
                  }
                >
                  <option value="prod">production</option>
                  <option value="eval">evaluation</option>
                  <option value="demo">demo</option>
                </select>
              </label>
              <button
                onClick={() =>
                  void change(
                    { deactivated: user.deactivated === null },
                    user.deactivated === null ? 'Deactivated' : 'Active again',
                  ).catch(tellError)
                }
              >
                {user.deactivated === null ? 'Deactivate' : 'Activate'}
              </button>
              {may('user.delete') && (
                <DestroyButton
                  kind="danger"
                  title="Delete the user"
                  done="The user was deleted"
                  text="Objects that only this user could see are erased; shared objects stay."
                  name={userId}
                  operation="user.delete"
                  input={input}
                  onDone={() => {
                    onDelete()
                    onClose()
                  }}
                >
                  Delete
                </DestroyButton>
              )}
            </div>
          )}
          {may('object.listAs') && <a href={hrefOf('see-as', userId)}>See the data as this user</a>}
          <Memberships userId={userId} />
          <Devices userId={userId} />
          {user.data !== null && Object.keys(user.data).length > 0 && (
            <section class="part">
              <h3>Data</h3>
              <Tree members={propertiesOf(user.data)} />
            </section>
          )}
        </>
      )}
    </Panel>
  )
}

function Licence({ user }: { user: User }) {
  const [text, kind] = licenceOf(user, Date.now())
  return <span class={`badge ${kind}`}>{text}</span>
}
