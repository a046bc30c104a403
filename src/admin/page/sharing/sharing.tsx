import { useState } from 'preact/hooks'
import { useRows } from '../data/use-rows'
import { Empty } from '../parts/empty'
import { Failure } from '../parts/failure'
import { Icon } from '../parts/icon'
import { PageHead } from '../parts/page-head'
import { SearchField } from '../parts/search-field'
import { Text } from '../parts/text'
import { isReadOnly, may } from '../server/session'
import { useShortcut } from '../shell/keys'
import { database, goTo, place } from '../shell/route'
import { NewRealm } from './new-realm'
import { RealmPanel } from './realm-panel'
import { type Realm, readRealm } from './rows'

/** The realms of the database, and one of them with its members and roles: `#/shop/sharing/rlm1`. */
export function Sharing() {
  const [search, setSearch] = useState('')
  const [isAdding, setIsAdding] = useState(false)
  const { rows, isLoading, isComplete, error, loadMore, reload } = useRows({
    database: database.value,
    table: 'realms',
    newestFirst: true,
    ...(search.trim() === '' ? {} : { search: search.trim() }),
  })
  const realms = rows.map(readRealm)
  const [chosen] = place.value.rest
  const mayAdd = may('object.put') && !isReadOnly.value
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
            <button class="main" title="n" onClick={() => setIsAdding(true)}>
              <Icon name="plus" />
              Realm
            </button>
          )}
        </PageHead>
        <Failure error={error} onAgain={reload} />
        {realms.length === 0 && !isLoading ? (
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
            <table class="sheet">
              <thead>
                <tr>
                  <th scope="col">Realm</th>
                  <th scope="col">Owner</th>
                </tr>
              </thead>
              <tbody>
                {realms.map((realm) => (
                  <RealmRow key={realm.realmId} realm={realm} isChosen={realm.realmId === chosen} />
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
  const { realmId, name, owner } = realm
  return (
    <tr class={isChosen ? 'chosen' : ''} onClick={() => goTo('sharing', realmId)}>
      <th scope="row">
        <button class="row-button" onClick={() => goTo('sharing', realmId)}>
          <span class="clip">
            <Text text={name || realmId} />
          </span>
          {name !== '' && (
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
