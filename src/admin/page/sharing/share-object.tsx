import { useRef, useState } from 'preact/hooks'
import type { StoredObject } from '../object/stored'
import { FormDialog } from '../parts/form-dialog'
import { call } from '../server/call'
import { Refusal } from '../server/refusal'
import { isReadOnly, may } from '../server/session'
import { database } from '../shell/route'
import { tellDone } from '../shell/toasts'
import { RealmField } from './realm-field'
import { rightsInput } from './rights-field'
import type { Member, Realm } from './rows'

/** True when the session may do all that sharing takes. */
export function mayShare(): boolean {
  const needed = ['user.show', 'object.put', 'realm.list', 'realm.add', 'realm.update']
  const ofMembers = ['member.list', 'member.add', 'member.update']
  return !isReadOnly.value && [...needed, ...ofMembers].every(may)
}

interface ShareObjectProps {
  readonly table: string
  readonly object: StoredObject
  /** A user who is to see it; an empty text for nobody yet. */
  readonly user: string
  readonly onClose: () => void
  readonly onShared: (user: string | null) => void
}

/** Moves an object to a realm, which may be a new one, and makes a user a member of it. */
export function ShareObject({ table, object, user, onClose, onShared }: ShareObjectProps) {
  const [chosen, setChosen] = useState('')
  const [name, setName] = useState('')
  const [member, setMember] = useState(user)
  const [mayManage, setMayManage] = useState(false)
  /** The realm that an attempt before has added. */
  const added = useRef<Pick<Realm, 'realm' | 'name'> | null>(null)

  const findRealm = async () => {
    if (chosen !== '') return chosen
    const named = { database: database.value, name: name.trim() }
    if (added.current === null) {
      added.current = await call<Realm>('realm.add', { ...named, owner: object.owner ?? '' })
    } else if (added.current.name !== named.name) {
      added.current = await call<Realm>('realm.update', { ...named, realm: added.current.realm })
    }
    return added.current.realm
  }
  const share = async () => {
    const userId = member.trim()
    // An unknown user is refused before a realm is added.
    if (userId !== '') await call('user.show', { database: database.value, user: userId })
    const realm = await findRealm()
    if (userId !== '') await addMember(realm, userId, mayManage)
    await call('object.put', {
      database: database.value,
      table,
      key: object.key,
      value: { ...object.value, realmId: realm },
      ifRevision: object.revision,
    })
    tellDone(userId === '' ? 'The object is in the realm' : `${userId} sees the object`)
    onShared(userId || null)
  }
  return (
    <FormDialog title="Share the object" action="Share" onSubmit={share} onClose={onClose}>
      <p class="soft">
        The object moves to a realm, and the members of the realm see it. Objects that belong to it,
        such as the items of a list, stay where they are.
      </p>
      <RealmField realm={chosen} none="A new realm" onChoose={setChosen} />
      {chosen === '' && (
        <label>
          <span>Its name</span>
          <input
            autofocus
            required
            value={name}
            onInput={({ currentTarget }) => setName(currentTarget.value)}
          />
        </label>
      )}
      <label>
        <span>User who becomes a member</span>
        <input
          placeholder="nobody yet"
          autocomplete="off"
          spellcheck={false}
          value={member}
          onInput={({ currentTarget }) => setMember(currentTarget.value)}
        />
      </label>
      <label class="check">
        <input type="checkbox" checked={mayManage} onChange={() => setMayManage(!mayManage)} />
        <span>They may change everything in the realm</span>
      </label>
    </FormDialog>
  )
}

/** A user who is a member already stays one, with all rights if `mayManage`. Throws a `Refusal`. */
async function addMember(realm: string, user: string, mayManage: boolean): Promise<void> {
  const main = { database: database.value }
  try {
    const rights = rightsInput({ roles: [], mayManage })
    await call('member.add', { ...main, realm, user, ...rights })
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'CONFLICT') throw error
    const { members } = await call<MemberPage>('member.list', { ...main, user })
    const member = members.find(({ isOwner, realmId, state }) => {
      return !isOwner && realmId === realm && state === 'accepted'
    })
    if (member === undefined) throw error
    const permissions = { ...member.permissions, manage: '*' }
    if (mayManage) await call('member.update', { ...main, member: member.id, permissions })
  }
}

interface MemberPage {
  readonly members: readonly Member[]
}
