import { useState } from 'preact/hooks'
import { usePages } from '../data/use-rows'
import { Copy } from '../parts/copy'
import { DestroyButton } from '../parts/destroy-button'
import { Fact, Facts } from '../parts/facts'
import { Failure } from '../parts/failure'
import { Icon } from '../parts/icon'
import { Panel } from '../parts/panel'
import { Section } from '../parts/section'
import { Text } from '../parts/text'
import { useOperation } from '../server/operation'
import { isReadOnly, may } from '../server/session'
import { database, hrefOf } from '../shell/route'
import { ChangeMember } from './change-member'
import { ChangeRealm } from './realm-dialogs'
import { Members } from './members'
import { NewMember } from './new-member'
import { RoleDialog, Roles } from './roles'
import type { Member, Realm, Role } from './rows'

interface RealmPanelProps {
  readonly realmId: string
  readonly onChange: () => void
  readonly onClose: () => void
}

/** A realm: one that is shared with its members, or the private one of a user. */
export function RealmPanel(props: RealmPanelProps) {
  const { realmId, onClose } = props
  if (realmId.startsWith('rlm')) return <SharedRealm {...props} />
  return (
    <Panel title={realmId} onClose={onClose}>
      <p>
        This is the private realm of{' '}
        <a href={hrefOf('people', realmId)}>
          <Text text={realmId} />
        </a>
        . Nobody else sees its objects, and it has no members.
      </p>
      <p class="soft">
        To share an object, open it in <a href={hrefOf('data')}>Data</a>, choose “Who sees it” and
        then “Share it”.
      </p>
    </Panel>
  )
}

/** A realm with its members, invitations and roles. */
function SharedRealm({ realmId, onChange, onClose }: RealmPanelProps) {
  const [open, setOpen] = useState<'realm' | 'member' | 'role' | Role | null>(null)
  const [changedMember, setChanged] = useState<Member | null>(null)
  const input = { database: database.value, realm: realmId }
  const { value: realm, error, reload } = useOperation<Realm>('realm.show', input)
  const members = usePages<Member>('member.list', 'members', input)
  const roles = usePages<Role>('role.list', 'roles', input)
  const moreRoles = roles.isMore ? roles.loadMore : undefined
  const isWriting = !isReadOnly.value
  // Work that ends after its dialog was closed leaves the next dialog open.
  const close = () => setOpen((now) => (now === open ? null : now))
  // Others may have changed the row while its dialog was open.
  const closeMember = () => {
    setChanged((now) => (now === changedMember ? null : now))
    members.reload()
  }
  const closeRole = () => {
    close()
    roles.reload()
  }
  return (
    <Panel
      title={realm?.name || realmId}
      onClose={onClose}
      actions={
        <>
          <Copy text={realmId} label="Copy the id" />
          {isWriting && realm !== undefined && may('realm.update') && (
            <button
              class="plain"
              title="Change"
              aria-label="Change the realm"
              onClick={() => setOpen('realm')}
            >
              <Icon name="edit" />
            </button>
          )}
          {isWriting && realm !== undefined && may('realm.remove') && (
            <DestroyButton
              label="Delete"
              tip="Delete"
              title="Delete the realm"
              done="The realm was deleted"
              text="Its objects, members and roles are deleted with it."
              name={realmId}
              operation="realm.remove"
              input={input}
              onDone={() => {
                onChange()
                onClose()
              }}
            />
          )}
        </>
      }
    >
      <Failure error={realm === undefined ? error : undefined} />
      <Head realmId={realmId} owner={realm === undefined ? undefined : realm.owner} />
      <Section
        title="Members"
        level={3}
        onAdd={isWriting && may('member.add') && (() => setOpen('member'))}
      >
        <Failure error={members.error} onAgain={members.retry} />
        <Members
          members={members.rows.filter(({ isOwner }) => !isOwner)}
          isComplete={members.isComplete}
          onChoose={setChanged}
          onChange={members.reload}
        />
        {members.isMore && (
          <button class="more" onClick={members.loadMore}>
            More
          </button>
        )}
      </Section>
      <Section
        title="Roles"
        level={3}
        onAdd={isWriting && may('role.put') && (() => setOpen('role'))}
      >
        <Failure error={roles.error} onAgain={roles.retry} />
        <Roles
          roles={roles.rows}
          isComplete={roles.isComplete}
          onChoose={setOpen}
          onChange={roles.reload}
        />
        {moreRoles !== undefined && (
          <button class="more" onClick={moreRoles}>
            More
          </button>
        )}
      </Section>
      {changedMember !== null && (
        <ChangeMember
          member={changedMember}
          roles={roles.rows.map(({ name }) => name)}
          onMoreRoles={moreRoles}
          onClose={closeMember}
          onChanged={closeMember}
        />
      )}
      {open === 'member' && (
        <NewMember
          realmId={realmId}
          roles={roles.rows.map(({ name }) => name)}
          onMoreRoles={moreRoles}
          onClose={close}
          onAdded={() => {
            close()
            members.reload()
          }}
        />
      )}
      {open === 'realm' && realm !== undefined && (
        <ChangeRealm
          realm={realm}
          onClose={close}
          onChanged={() => {
            close()
            reload()
            members.reload()
            onChange()
          }}
        />
      )}
      {(open === 'role' || (typeof open === 'object' && open !== null)) && (
        <RoleDialog
          realmId={realmId}
          role={open === 'role' ? null : open}
          onClose={closeRole}
          onSaved={closeRole}
        />
      )}
    </Panel>
  )
}

/** `owner` is undefined until it is known. */
function Head({ realmId, owner }: { realmId: string; owner: string | null | undefined }) {
  return (
    <Facts>
      <Fact name="Id">
        <span class="mono">
          <Text text={realmId} />
        </span>
      </Fact>
      <Fact name="Owner">
        {owner === undefined && '…'}
        {owner === null && 'unowned'}
        {typeof owner === 'string' && (
          <a href={hrefOf('people', owner)}>
            <Text text={owner} />
          </a>
        )}
      </Fact>
    </Facts>
  )
}
