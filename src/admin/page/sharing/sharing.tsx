import { useState } from 'preact/hooks'
import { PAGE, usePages } from '../data/use-rows'
import { Empty } from '../parts/empty'
import { Icon } from '../parts/icon'
import { ListPage } from '../parts/list-page'
import { PausedSearch } from '../parts/paused-search'
import { Text } from '../parts/text'
import { isReadOnly, may } from '../server/session'
import { useShortcut } from '../shell/keys'
import { database, goTo, place } from '../shell/route'
import { NewRealm } from './realm-dialogs'
import { RealmPanel } from './realm-panel'
import type { Realm } from './rows'

/** The realms of the database, and one of them with its members and roles: `#/shop/sharing/rlm1`. */
export function Sharing() {
  const [search, setSearch] = useState('')
  const [isAdding, setIsAdding] = useState(false)
  const list = usePages<Realm>('realm.list', 'realms', {
    database: database.value,
    limit: PAGE,
    ...(search.trim() === '' ? {} : { search: search.trim() }),
  })
  const [chosen] = place.value.rest
  const changed = () => {
    const at = list.rows.findIndex(({ realm }) => realm === chosen)
    if (at === -1) list.reload()
    else list.renew(at, 0)
  }
  const mayAdd = may('realm.add') && !isReadOnly.value
  useShortcut('n', 'Add a realm', () => setIsAdding(true), mayAdd)
  return (
    <>
      <ListPage
        title="Sharing"
        actions={
          <>
            <PausedSearch label="Name or id of a realm" text={search} onSearch={setSearch} />
            {mayAdd && (
              <button class="main" title="Add a realm (n)" onClick={() => setIsAdding(true)}>
                <Icon name="plus" />
                Realm
              </button>
            )}
          </>
        }
        list={list}
        columns={
          <>
            <th scope="col">Realm</th>
            <th scope="col">Owner</th>
          </>
        }
        rowOf={(realm) => (
          <RealmRow key={realm.realm} realm={realm} isChosen={realm.realm === chosen} />
        )}
        empty={
          <Empty
            icon="sharing"
            title={search === '' ? 'Nothing is shared yet' : 'No realm matches'}
          >
            <p>
              A realm is a set of objects with members. Each user has a private one; applications
              create others to share a list.{' '}
              <a href="docs/sharing" target="_blank" rel="noopener">
                Share objects, and invite people
              </a>
            </p>
          </Empty>
        }
        panel={
          chosen && (
            <RealmPanel
              key={chosen}
              realmId={chosen}
              onChange={changed}
              onClose={() => goTo('sharing')}
            />
          )
        }
      />
      {isAdding && (
        <NewRealm
          onClose={() => setIsAdding(false)}
          onAdded={(realmId) => {
            setIsAdding(false)
            list.reload()
            goTo('sharing', realmId)
          }}
        />
      )}
    </>
  )
}

function RealmRow({ realm, isChosen }: { realm: Realm; isChosen: boolean }) {
  const { realm: realmId, name, owner } = realm
  return (
    <tr class={isChosen ? 'chosen' : ''} onClick={() => goTo('sharing', realmId)}>
      <th scope="row">
        <button class="row-button" onClick={() => goTo('sharing', realmId)}>
          <span class="clip">
            <Text text={name || realmId} />
          </span>
          {name && (
            <span class="clip soft small mono">
              <Text text={realmId} />
            </span>
          )}
        </button>
      </th>
      <td class="soft">{owner === null ? 'unowned' : <Text text={owner} />}</td>
    </tr>
  )
}
