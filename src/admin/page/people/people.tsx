import { useState } from 'preact/hooks'
import { Ago } from '../parts/ago'
import { moveByArrows } from '../parts/arrow-keys'
import { Empty } from '../parts/empty'
import { Failure } from '../parts/failure'
import { Icon } from '../parts/icon'
import { PageHead } from '../parts/page-head'
import { SearchField } from '../parts/search-field'
import { Text } from '../parts/text'
import { useOperation } from '../server/operation'
import { isReadOnly, may } from '../server/session'
import { useShortcut } from '../shell/keys'
import { database, goTo, place } from '../shell/route'
import { NewUser } from './new-user'
import { licenceOf, nameOf, type User, type UserPage } from './user'
import { UserPanel } from './user-panel'

const PAGE = 200

/** The users of the database, and one of them: `#/shop/people/alice@example.com`. */
export function People() {
  const [search, setSearch] = useState('')
  const [state, setState] = useState('')
  const [limit, setLimit] = useState(PAGE)
  const [isAdding, setIsAdding] = useState(false)
  const query = new URLSearchParams({
    limit: String(limit),
    ...(search.trim() === '' ? {} : { search: search.trim() }),
    ...filterOf(state),
  })
  const found = useOperation<UserPage>('user.list', {
    database: database.value,
    query: query.toString(),
  })
  const { value, error, reload } = found
  const [chosen] = place.value.rest
  const mayAdd = may('user.write') && !isReadOnly.value
  useShortcut('n', 'Add a user', () => setIsAdding(true), mayAdd)
  return (
    <div class={`split ${chosen === undefined ? '' : 'with-panel'}`}>
      <section class="fill">
        <PageHead
          title="People"
          about={value && `${value.data.length.toLocaleString()}${value.hasMore ? '+' : ''}`}
        >
          <SearchField label="Name or address" value={search} onInput={setSearch} />
          <select
            aria-label="Which users"
            value={state}
            onChange={({ currentTarget }) => setState(currentTarget.value)}
          >
            <option value="">All</option>
            <option value="prod">Production</option>
            <option value="eval">Evaluation</option>
            <option value="demo">Demo</option>
            <option value="deactivated">Deactivated</option>
          </select>
          {mayAdd && (
            <button class="main" title="Add a user (n)" onClick={() => setIsAdding(true)}>
              <Icon name="plus" />
              Add
            </button>
          )}
        </PageHead>
        <Failure error={error} onAgain={reload} />
        {value?.data.length === 0 && (
          <Empty
            icon="people"
            title={query.size > 1 ? 'No user matches' : 'No user has logged in yet'}
          >
            Users appear when they log in for the first time, as the policy of the database says, or
            when you add them.
          </Empty>
        )}
        {value !== undefined && value.data.length > 0 && (
          <div class="sheet-box">
            <table class="sheet" onKeyDown={moveByArrows}>
              <thead>
                <tr>
                  <th scope="col">User</th>
                  <th scope="col">Licence</th>
                  <th scope="col">Last login</th>
                  <th scope="col" class="wide-only">
                    Created
                  </th>
                </tr>
              </thead>
              <tbody>
                {value.data.map((user) => (
                  <UserRow key={user.userId} user={user} isChosen={user.userId === chosen} />
                ))}
              </tbody>
            </table>
            {value.hasMore && (
              <button class="more" onClick={() => setLimit(limit + PAGE)}>
                More
              </button>
            )}
          </div>
        )}
      </section>
      {chosen !== undefined && (
        <UserPanel key={chosen} userId={chosen} onChange={reload} onClose={() => goTo('people')} />
      )}
      {isAdding && (
        <NewUser
          onClose={() => setIsAdding(false)}
          onAdded={(userId) => {
            setIsAdding(false)
            reload()
            goTo('people', userId)
          }}
        />
      )}
    </div>
  )
}

function filterOf(state: string): Record<string, string> {
  if (state === '') return {}
  return state === 'deactivated' ? { active: 'false' } : { type: state }
}

function UserRow({ user, isChosen }: { user: User; isChosen: boolean }) {
  const [licence, kind] = licenceOf(user, Date.now())
  const name = nameOf(user)
  return (
    <tr class={isChosen ? 'chosen' : ''} onClick={() => goTo('people', user.userId)}>
      <th scope="row">
        <button class="row-button" onClick={() => goTo('people', user.userId)}>
          <span class="clip">
            <Text text={name} />
          </span>
          {name !== user.userId && (
            <span class="clip soft small">
              <Text text={user.userId} />
            </span>
          )}
        </button>
      </th>
      <td>
        <span class={`badge ${kind}`}>{licence}</span>
      </td>
      <td class="soft">
        <Ago at={user.lastLogin} />
      </td>
      <td class="soft wide-only">
        <Ago at={user.created} />
      </td>
    </tr>
  )
}
