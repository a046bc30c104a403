import { useState } from 'preact/hooks'
import { PAGE, type Paging, usePages } from '../data/use-rows'
import { Ago } from '../parts/ago'
import { Empty } from '../parts/empty'
import { Icon } from '../parts/icon'
import { ListPage } from '../parts/list-page'
import { PausedSearch } from '../parts/paused-search'
import { Text } from '../parts/text'
import { isReadOnly, may } from '../server/session'
import { useShortcut } from '../shell/keys'
import { database, goTo, place } from '../shell/route'
import { NewUser } from './new-user'
import { licenceOf, nameOf, type User } from './user'
import { UserPanel } from './user-panel'

/** The filters and the place are a query. */
const PAGES: Paging = {
  list: 'data',
  inputOf: ({ database, ...filters }, pagingKey) => {
    const query = { ...filters, ...(pagingKey === null ? {} : { pagingKey }) }
    return { database, query: new URLSearchParams(query).toString() }
  },
  cursorOf: ({ hasMore, pagingKey }) => (hasMore === true ? (pagingKey as string) : null),
}

/** The users of the database, and one of them: `#/shop/people/alice@example.com`. */
export function People() {
  const [search, setSearch] = useState('')
  const [state, setState] = useState('')
  const [isAdding, setIsAdding] = useState(false)
  const filters = {
    ...(search.trim() === '' ? {} : { search: search.trim() }),
    ...filterOf(state),
  }
  const list = usePages<User>('user.list', PAGES, {
    database: database.value,
    limit: PAGE,
    ...filters,
  })
  const [chosen] = place.value.rest
  const changed = (by: number) => {
    const at = list.rows.findIndex(({ userId }) => userId === chosen)
    if (at === -1) list.reload()
    else list.renew(at, by)
  }
  const mayAdd = may('user.write') && !isReadOnly.value
  useShortcut('n', 'Add a user', () => setIsAdding(true), mayAdd)
  return (
    <>
      <ListPage
        title="People"
        actions={
          <>
            <PausedSearch label="Name or address" text={search} onSearch={setSearch} />
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
          </>
        }
        list={list}
        columns={
          <>
            <th scope="col">User</th>
            <th scope="col">Licence</th>
            <th scope="col">Last login</th>
            <th scope="col" class="wide-only">
              Created
            </th>
          </>
        }
        rowOf={(user) => (
          <UserRow key={user.userId} user={user} isChosen={user.userId === chosen} />
        )}
        empty={
          <Empty
            icon="people"
            title={
              Object.keys(filters).length > 0 ? 'No user matches' : 'No user has logged in yet'
            }
          >
            Users appear when they log in for the first time, as the policy of the database says, or
            when you add them.
          </Empty>
        }
        panel={
          chosen && (
            <UserPanel
              key={chosen}
              userId={chosen}
              onChange={() => changed(0)}
              onDelete={() => changed(-1)}
              onClose={() => goTo('people')}
            />
          )
        }
      />
      {isAdding && (
        <NewUser
          onClose={() => setIsAdding(false)}
          onAdded={(userId) => {
            setIsAdding(false)
            list.reload()
            goTo('people', userId)
          }}
        />
      )}
    </>
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
