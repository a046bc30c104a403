import { useState } from 'preact/hooks'
import { PAGE, usePages } from '../data/use-rows'
import { moveByArrows } from '../parts/arrow-keys'
import { Empty } from '../parts/empty'
import { Failure } from '../parts/failure'
import { Icon } from '../parts/icon'
import { PageHead } from '../parts/page-head'
import { SearchField } from '../parts/search-field'
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
  const {
    rows: realms,
    isLoading,
    isComplete,
    error,
    loadMore,
    reload,
  } = usePages<Realm>('realm.list', 'realms', {
    database: database.value,
    limit: PAGE,
    ...(search.trim() === '' ? {} : { search: search.trim() }),
  })
  const [chosen] = place.value.rest
  const mayAdd = may('realm.add') && !isReadOnly.value
  useShortcut('n', 'Add a realm', () => setIsAdding(true), mayAdd)
  return (
    <div class={`split ${chosen === undefined ? '' : 'with-panel'}`}>
      <section class="fill">
        <PageHead
          title="Sharing"
          about={`${realms.length.toLocaleString()}${isComplete ? '' : '+'}`}
        >
          <SearchField label="Name or id of a realm" value={search} onInput={setSearch} />
          {mayAdd && (
            <button class="main" title="Add a realm (n)" onClick={() => setIsAdding(true)}>
              <Icon name="plus" />
              Realm
            </button>
          )}
        </PageHead>
        <Failure error={error} onAgain={reload} />
        {realms.length === 0 && !isLoading && error === undefined ? (
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
        ) : (
          <div class="sheet-box">
            <table class="sheet" onKeyDown={moveByArrows}>
              <thead>
                <tr>
                  <th scope="col">Realm</th>
                  <th scope="col">Owner</th>
                </tr>
              </thead>
              <tbody>
                {realms.map((realm) => (
                  <RealmRow key={realm.realm} realm={realm} isChosen={realm.realm === chosen} />
                ))}
              </tbody>
            </table>
            {!isComplete && !isLoading && (
              <button class="more" onClick={loadMore}>
                More
              </button>
            )}
          </div>
        )}
      </section>
      {chosen !== undefined && (
        <RealmPanel
          key={chosen}
          realmId={chosen}
          onChange={reload}
          onClose={() => goTo('sharing')}
        />
      )}
      {isAdding && (
        <NewRealm
          onClose={() => setIsAdding(false)}
          onAdded={(realmId) => {
            setIsAdding(false)
            reload()
            goTo('sharing', realmId)
          }}
        />
      )}
    </div>
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
