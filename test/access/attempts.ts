/** The second axis of the matrix (`promises.md` 24, 25): every operation that a user may try in a realm. */
import { type Operation, put, remove } from './operation'
import { PUBLIC, type Value } from './oracle-world'
import { date, type SeedRow } from './standings'

/** Undefined where the scene has no such row. */
export type Attempts = Readonly<Record<string, Operation | undefined>>

/** The row of the scene as a client would send it back, changed. */
type Edit = (table: string, key: string, changes: Value) => Operation | undefined

export const attemptsIn = (realm: string, scene: readonly SeedRow[]): Attempts => {
  const edit = editOf(scene)
  return {
    ...onObjects(realm, edit),
    ...onMembers(realm, edit),
    ...onRoles(realm, edit),
    ...onRealms(realm, edit),
  }
}

/** Those for which it matters who owns the item. */
export const attemptsOnItems = (realm: string, scene: readonly SeedRow[]): Attempts =>
  onObjects(realm, editOf(scene))

const editOf =
  (scene: readonly SeedRow[]): Edit =>
  (table, key, changes) => {
    const found = scene.findLast(
      ([name, value]) => name === table && Object.values(value).includes(key),
    )
    if (found === undefined) return undefined
    const row = Object.entries({ ...found[1], ...changes })
    return put(table, Object.fromEntries(row.filter(([, value]) => value !== undefined)))
  }

/** Two puts into one table as one request. */
const together = (one: Operation | undefined, other: Operation): Operation | undefined =>
  one?.verb === 'put' && other.verb === 'put'
    ? { ...one, objects: [...one.objects, ...other.objects] }
    : undefined

const onObjects = (realm: string, edit: Edit): Attempts => {
  const item = (changes: Value) => edit('todoItems', 'tdiItem', changes)
  const added = (changes: Value = {}) =>
    put('todoItems', { id: 'tdiNew', realmId: realm, ...changes })
  return {
    'adds an object': added(),
    'adds an object of their own': added({ owner: 'me' }),
    'adds an unowned object': added({ owner: null }),
    'adds an object of another': added({ owner: 'dave' }),
    'adds a note': put('notes', { id: 'note', realmId: realm }),
    'adds an object without saying where': put('todoItems', { id: 'tdiNew' }),
    'adds a private key there': put('notes', { id: '#new', realmId: realm }),
    'adds a private key': put('notes', { id: '#new' }),
    'writes the private key of another': put('notes', { id: '#secret:bob', text: 'taken' }),
    'removes the private key of another': remove('notes', '#secret:bob'),
    'removes their private key': remove('notes', '#secret'),
    'changes nothing': item({}),
    'changes the title': item({ title: 'changed' }),
    'changes done': item({ done: true }),
    'changes both': item({ title: 'changed', done: true }),
    'leaves a property out': item({ done: undefined }),
    'adds a property': item({ note: 'new' }),
    'leaves realm and owner open': item({ done: true, realmId: undefined, owner: undefined }),
    'takes it over': item({ owner: 'me' }),
    'removes its owner': item({ owner: null }),
    'gives it to another': item({ owner: 'dave' }),
    'moves it home': item({ realmId: 'me' }),
    'moves it to where they may add': item({ realmId: 'rlmOpen' }),
    'moves it to where they may read': item({ realmId: 'rlmRead' }),
    'moves it to where they are not': item({ realmId: 'rlmElse' }),
    'moves it to nowhere': item({ realmId: 'rlmNone' }),
    'moves it to the realm of another': item({ realmId: 'bob' }),
    'moves it to the public realm': item({ realmId: PUBLIC }),
    'moves and changes it': item({ realmId: 'rlmOpen', title: 'changed' }),
    'moves their own object there': edit('todoItems', 'tdiMine', { realmId: realm }),
    'writes their object where they are not': edit('todoItems', 'tdiElse', { title: 'changed' }),
    'takes back their object where they are not': edit('todoItems', 'tdiElse', { realmId: 'me' }),
    'writes one and then it again': put(
      'todoItems',
      { id: 'tdiNew', realmId: realm, title: 'one' },
      { id: 'tdiNew', realmId: realm, title: 'two' },
    ),
    'writes one at home and one there': put(
      'todoItems',
      { id: 'tdiHome' },
      { id: 'tdiNew', realmId: realm },
    ),
    removes: remove('todoItems', 'tdiItem'),
    'removes what is not there': remove('todoItems', 'tdiNone'),
    'removes their object where they are not': remove('todoItems', 'tdiElse'),
    'ties a realm to the item': put('realms', { realmId: 'rlm~tdiItem' }),
  }
}

const onMembers = (realm: string, edit: Edit): Attempts => {
  const invited = (changes: Value) =>
    put('members', { id: 'mmbNew', realmId: realm, email: 'new@example.com', ...changes })
  const dave = (changes: Value) => edit('members', 'mmbDave', changes)
  const mine = (changes: Value) => edit('members', 'mmbMine', changes)
  return {
    'invites a user': invited({}),
    'invites a user to add': invited({ permissions: { add: ['todoItems'] } }),
    'invites a user to add all': invited({ permissions: { add: '*' } }),
    'invites a user to update': invited({
      permissions: { update: { todoItems: ['title', 'done'] } },
    }),
    'invites a user to update all of a table': invited({
      permissions: { update: { todoItems: '*' } },
    }),
    'invites a user to update all': invited({ permissions: { update: '*' } }),
    'invites a user to change owners': invited({
      permissions: { update: { todoItems: ['owner'] } },
    }),
    'invites a user to manage items': invited({ permissions: { manage: ['todoItems'] } }),
    'invites a user to manage': invited({ permissions: { manage: '*' } }),
    'invites a user by a role': invited({ roles: ['local'] }),
    'invites a user by a strong role': invited({ roles: ['strong'] }),
    'invites a user by no role': invited({ roles: ['unheard of'] }),
    'invites for another': invited({ owner: 'dave' }),
    'invites in the name of another': invited({ invitedBy: { userId: 'bob' } }),
    'adds themselves': invited({ userId: 'me' }),
    'adds themselves with all': invited({ userId: 'me', permissions: { manage: '*' } }),
    'adds themselves as accepted': invited({ userId: 'me', accepted: date(4) }),
    'adds another': invited({ userId: 'dave' }),
    'adds an accepted member': invited({ accepted: date(4) }),
    'adds a member without a realm': put('members', { id: 'mmbNew', email: 'new@example.com' }),
    'adds a member with a private key': put('members', { id: '#mmb', realmId: realm }),
    'renames a member': dave({ name: 'David' }),
    'gives a member all': dave({ permissions: { manage: '*' } }),
    'gives a member a strong role': dave({ roles: ['strong'] }),
    'takes the rights of a member': dave({ permissions: {} }),
    'takes the place of a member': dave({ userId: 'me' }),
    'empties the place of a member': dave({ userId: null }),
    'changes the answer of a member': dave({ rejected: date(5) }),
    'forgets the answer of a member': dave({
      accepted: undefined,
      name: 'D.',
    }),
    'brings a member back': edit('members', 'mmbFormer', { rejected: null }),
    'moves a member': dave({ realmId: 'rlmOpen' }),
    'moves a member and nothing they may do': dave({ realmId: 'rlmOpen', permissions: {} }),
    'moves an invitation': edit('members', 'mmbErin', { realmId: 'rlmOpen' }),
    'moves a strong invitation': edit('members', 'mmbFred', { realmId: 'rlmOpen' }),
    'moves a member home': dave({ realmId: 'me' }),
    'moves their own row there': edit('members', 'mmbAdder', { realmId: realm }),
    'turns an invitation to themselves': edit('members', 'mmbFred', { email: 'me@example.com' }),
    'answers the invitation of another': edit('members', 'mmbErin', { accepted: date(4) }),
    'takes the invitation of another': edit('members', 'mmbErin', {
      userId: 'me',
      accepted: date(4),
    }),
    'takes over a member row': dave({ owner: 'me' }),
    'removes a member': remove('members', 'mmbDave'),
    'removes an invitation': remove('members', 'mmbErin'),
    accepts: mine({ accepted: date(4) }),
    'accepts with their id': mine({ accepted: date(4), userId: 'me' }),
    'accepts for another': mine({ accepted: date(4), userId: 'dave' }),
    'accepts and takes more': mine({
      accepted: date(4),
      userId: 'me',
      roles: ['strong'],
    }),
    'accepts with a new name': mine({
      accepted: date(4),
      userId: 'me',
      name: 'I',
    }),
    refuses: mine({ rejected: date(4) }),
    'gives themselves all': mine({ permissions: { manage: '*' } }),
    'gives themselves a strong role': mine({ roles: ['strong'] }),
    leaves: remove('members', 'mmbMine'),
    'gives up their rights and uses them': together(
      mine({ permissions: {}, roles: [] }),
      invited({}),
    ),
  }
}

const onRoles = (realm: string, edit: Edit): Attempts => {
  const made = (changes: Value) => put('roles', { realmId: realm, name: 'new', ...changes })
  const local = (changes: Value) => edit('roles', 'local', changes)
  return {
    'makes a role': made({}),
    'makes a role that adds': made({ permissions: { add: ['todoItems'] } }),
    'makes a role that manages roles': made({ permissions: { manage: ['roles'] } }),
    'makes a strong role': made({ permissions: { manage: '*' } }),
    'makes a role at home': put('roles', { realmId: 'me', name: 'new' }),
    'makes a role without a realm': put('roles', { name: 'new' }),
    'strengthens a role': local({
      realmId: realm,
      permissions: { manage: '*' },
      owner: 'me',
    }),
    'weakens a role': local({ permissions: {} }),
    'describes a role': local({
      realmId: realm,
      permissions: { add: ['todoItems'] },
      owner: 'me',
      description: 'new',
    }),
    'removes a role': remove('roles', JSON.stringify([realm, 'local'])),
    'removes the role that hides': remove('roles', JSON.stringify([realm, 'hidden'])),
    'removes a global role': remove('roles', JSON.stringify([PUBLIC, 'strong'])),
  }
}

const onRealms = (realm: string, edit: Edit): Attempts => {
  const edited = (changes: Value) => edit('realms', realm, changes)
  return {
    'makes a realm': put('realms', { realmId: 'rlmNew', name: 'new' }),
    'creates an unowned realm': put('realms', { realmId: 'rlmNew', owner: null }),
    'makes a realm of another': put('realms', { realmId: 'rlmNew', owner: 'dave' }),
    'makes a realm out of a user': put('realms', { realmId: 'dave' }),
    'makes the public realm': put('realms', { realmId: PUBLIC }),
    'makes a realm anew': put('realms', { realmId: 'rlmGone' }),
    'ties a realm to their item': put('realms', { realmId: 'rlm~tdiMine' }),
    'ties a realm to an item out of reach': put('realms', { realmId: 'rlm~tdiElse' }),
    'ties a realm to a private key of another': put('realms', { realmId: 'rlm~#secret:bob' }),
    'ties a realm to nothing': put('realms', { realmId: 'rlm~tdiNone' }),
    'puts the tied realm': put('realms', { realmId: 'rlm~list', name: 'mine' }),
    'writes a realm where they are not': put('realms', { realmId: 'rlmElse', name: 'mine' }),
    'renames the realm': edited({ name: 'renamed' }),
    'takes over the realm': edited({ owner: 'me' }),
    'gives the realm to a member': edited({ owner: 'dave' }),
    'gives the realm to a stranger': edited({ owner: 'stranger' }),
    'gives the realm to the invited': edited({ owner: 'erin' }),
    'removes the owner of the realm': edited({ owner: null }),
    'removes the realm': remove('realms', realm),
    'removes a realm where they are not': remove('realms', 'rlmElse'),
  }
}
