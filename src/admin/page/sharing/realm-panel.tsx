import { useState } from 'preact/hooks'
import { useRows } from '../data/use-rows'
import { Copy } from '../parts/copy'
import { Fact, Facts } from '../parts/facts'
import { Failure } from '../parts/failure'
import { Icon } from '../parts/icon'
import { Panel } from '../parts/panel'
import { Text } from '../parts/text'
import { useOperation } from '../server/operation'
import { isReadOnly, may } from '../server/session'
import { askToDestroy } from '../shell/destroy'
import { database, hrefOf } from '../shell/route'
import { Members } from './members'
import { NewMember } from './new-member'
import {
  describePermissions,
  readMember,
  readRealm,
  readRole,
  type Role,
  type SharingRow,
} from './rows'

/** A realm with its members, invitations and roles. */
export function RealmPanel({
  realmId,
  onChange,
  onClose,
}: {
  realmId: string
  onChange: () => void
  onClose: () => void
}) {
  const [isAdding, setIsAdding] = useState(false)
  const input = { database: database.value, table: 'realms', key: realmId }
  const { value: row, error } = useOperation<SharingRow>('object.show', input)
  const ofRealm = { database: database.value, newestFirst: false, filter: filterFor(realmId) }
  const members = useRows({ ...ofRealm, table: 'members' })
  const roles = useRows({ ...ofRealm, table: 'roles' })
  const realm = row === undefined ? undefined : readRealm(row)
  const isWriting = may('object.put') && !isReadOnly.value
  return (
    <Panel
      title={realm?.name || realmId}
      onClose={onClose}
      actions={
        <>
          <Copy text={realmId} label="Copy the id" />
          {isWriting && realm !== undefined && (
            <button
              class="plain"
              title="Delete"
              aria-label="Delete"
              onClick={() =>
                askToDestroy({
                  title: 'Delete the realm',
                  text: 'Its objects, members and roles are deleted with it.',
                  name: realmId,
                  operation: 'object.delete',
                  input,
                  onDone() {
                    onChange()
                    onClose()
                  },
                })
              }
            >
              <Icon name="trash" />
            </button>
          )}
        </>
      }
    >
      {realm === undefined ? (
        <Failure error={error} />
      ) : (
        <Head realmId={realmId} owner={realm.owner} />
      )}
      <section class="part">
        <header>
          <h3>Members</h3>
          {isWriting && (
            <button class="small-button" onClick={() => setIsAdding(true)}>
              <Icon name="plus" />
              Add
            </button>
          )}
        </header>
        <Failure error={members.error} />
        <Members
          members={members.rows.map(readMember)}
          isLoading={members.isLoading}
          onChange={members.reload}
        />
      </section>
      <section class="part">
        <h3>Roles</h3>
        <Failure error={roles.error} />
        <Roles roles={roles.rows.map(readRole)} isLoading={roles.isLoading} />
      </section>
      {isAdding && (
        <NewMember
          realmId={realmId}
          roles={roles.rows.map((each) => readRole(each).name)}
          onClose={() => setIsAdding(false)}
          onAdded={() => {
            setIsAdding(false)
            members.reload()
          }}
        />
      )}
    </Panel>
  )
}

export function filterFor(realmId: string): string {
  return new URLSearchParams({ realmId }).toString()
}

function Head({ realmId, owner }: { realmId: string; owner: string | null }) {
  return (
    <Facts>
      <Fact name="Id">
        <span class="mono">
          <Text text={realmId} />
        </span>
      </Fact>
      <Fact name="Owner">
        {owner === null ? (
          'unowned'
        ) : (
          <a href={hrefOf('people', owner)}>
            <Text text={owner} />
          </a>
        )}
      </Fact>
    </Facts>
  )
}

function Roles({ roles, isLoading }: { roles: readonly Role[]; isLoading: boolean }) {
  return (
    <ul class="rows">
      {roles.map(({ key, name, permissions }) => (
        <li key={key}>
          <a href={hrefOf('data', 'roles', key)}>
            <Text text={name} />
          </a>
          <span class="soft small">
            <Text text={describePermissions(permissions).join(' · ') || 'no permissions'} />
          </span>
        </li>
      ))}
      {roles.length === 0 && !isLoading && <li class="soft">None of its own.</li>}
    </ul>
  )
}
