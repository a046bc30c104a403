/** Random lives of a database: operations of several users, as data to draw from. */
import * as fc from 'fast-check'
import { type Operation, put, remove, through } from './operation'
import type { Grant } from './oracle-permission'
import { isAddressedTo, type Person, PUBLIC, rowsOf, type Value, type World } from './oracle-world'
import type { SeedRow } from './standings'

export const PEOPLE: readonly Person[] = [
  { id: 'alice', email: 'alice@example.com' },
  { id: 'bob', email: 'bob@example.com' },
  { id: 'carol', email: 'carol@example.com' },
  { id: 'dan' },
]

/** One step, independent of the state of the world at its turn. */
export interface Step {
  readonly person: Person
  readonly name: string
  /** Undefined when there is nothing to do it to. */
  operationIn(world: World): Operation | undefined
}

/** Begins the names of the steps of an administrator. */
export const GLOBALLY = 'with GLOBAL_WRITE'

/** The step that lets the storage erase what deleted realms have left. */
export const ERASURE = 'erasure'

export const FIRST_ROWS: readonly SeedRow[] = [
  ['realms', { realmId: 'rlmA', owner: 'alice' }],
  ['realms', { realmId: 'rlmB', owner: null }],
  ['roles', { realmId: PUBLIC, name: 'helper', permissions: { manage: '*' }, owner: null }],
  [
    'roles',
    { realmId: 'rlmA', name: 'helper', permissions: { manage: ['members', 'roles'] }, owner: null },
  ],
  ['members', { id: 'mmb1', realmId: 'rlmA', userId: 'bob', roles: ['helper'], owner: 'alice' }],
  ['members', { id: 'mmb2', realmId: 'rlmA', email: 'carol@example.com', owner: 'bob' }],
  [
    'members',
    { id: 'mmb3', realmId: 'rlmB', userId: 'dan', permissions: { manage: '*' }, owner: null },
  ],
  [
    'members',
    { id: 'mmb4', realmId: 'rlmB', userId: 'carol', permissions: { add: '*' }, owner: null },
  ],
  [
    'members',
    {
      id: 'mmb5',
      realmId: PUBLIC,
      userId: 'bob',
      permissions: { manage: ['roles', 'members'] },
      owner: null,
    },
  ],
  ['todoItems', { id: 'tdi1', realmId: 'rlmA', owner: 'bob', title: 'one' }],
  ['todoItems', { id: 'tdi2', realmId: 'rlmB', owner: null, title: 'two' }],
  ['todoItems', { id: 'tdi3', realmId: PUBLIC, owner: 'dan', title: 'three' }],
]

const GRANTS: readonly Grant[] = [
  {},
  { add: ['todoItems', 'members'] },
  { add: '*', update: { todoItems: ['title', 'realmId'] } },
  { update: '*' },
  { update: { members: ['*', 'owner', 'realmId'], realms: '*' } },
  { manage: ['todoItems', 'members'] },
  { manage: ['roles'] },
  { manage: ['realms'] },
  { manage: '*' },
]

const pick = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values)

const person = pick(...PEOPLE)
const userId = pick(...PEOPLE.map(({ id }) => id))
const sharedRealm = pick('rlmA', 'rlmB', 'rlm~tdi1', PUBLIC)
const realm = fc.oneof({ arbitrary: sharedRealm, weight: 4 }, { arbitrary: userId, weight: 1 })
const owner = fc.oneof(userId, fc.constant(null))
const time = fc.integer({ min: 1, max: 9 }).map((day): Value => ({
  $t: 'Date',
  v: `2029-12-0${day}T12:00:00.000Z`,
}))
const permissions = pick(...GRANTS)
const roles = fc.subarray(['helper', 'boss'])
const email = pick(
  'alice@example.com',
  'Bob@Example.com',
  'carol@example.com',
  'nobody@example.com',
)

/** Any of these properties, or none. */
const some = (properties: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Value> =>
  fc.record(properties, { requiredKeys: [] })

const TABLE_CHANGES: Readonly<Record<string, fc.Arbitrary<Value>>> = {
  todoItems: some({ title: pick('a', 'b'), done: fc.boolean(), realmId: realm, owner }),
  notes: some({ text: pick('a', 'b'), realmId: realm, owner }),
  realms: some({ name: pick('a', 'b'), owner }),
  roles: some({ permissions, description: pick('a', 'b') }),
  members: some({
    name: pick('a', 'b'),
    realmId: realm,
    userId: fc.oneof(userId, fc.constant(null)),
    email,
    permissions,
    roles,
    accepted: time,
    rejected: time,
    owner,
  }),
}

const NEW_KEYS: Readonly<Record<string, fc.Arbitrary<Value>>> = {
  todoItems: fc.record({ id: pick('tdi1', 'tdi2', 'tdi3', 'tdi4') }),
  notes: fc.record({ id: pick('#mine', '#mine:alice', 'note') }),
  realms: fc.record({ realmId: pick('rlmA', 'rlmB', 'rlmC', 'rlm~tdi1', 'rlm~tdi3') }),
  roles: fc.record({ realmId: sharedRealm, name: pick('helper', 'boss') }),
  members: fc.record({ id: pick('mmb1', 'mmb2', 'mmb3', 'mmb6', 'mmb7'), realmId: sharedRealm }),
}

const table = fc.oneof(
  { arbitrary: fc.constant('members'), weight: 4 },
  { arbitrary: pick('todoItems', 'notes', 'realms', 'roles'), weight: 5 },
)

const insertion = table.chain((name) =>
  fc
    .record({
      person,
      key: NEW_KEYS[name] ?? fc.constant({}),
      rest: TABLE_CHANGES[name] ?? fc.constant({}),
    })
    .map((drawn): Step => ({
      person: drawn.person,
      name: 'puts',
      operationIn: () => put(name, { ...drawn.rest, ...drawn.key }),
    })),
)

const change = table.chain((name) =>
  fc
    .record({ person, place: fc.nat(20), changes: TABLE_CHANGES[name] ?? fc.constant({}) })
    .map((drawn): Step => ({
      person: drawn.person,
      name: 'changes',
      operationIn(world) {
        const row = nth(rowsOf(world, name), drawn.place)
        return row && put(name, { ...row.value, ...drawn.changes, ...keyIn(name, row.value) })
      },
    })),
)

/** A row keeps its key; that of a role holds its realm. */
const keyIn = (name: string, value: Value): Value =>
  name === 'roles' || name === 'realms' ? { realmId: value['realmId'] } : {}

const removal = fc.record({ person, table, place: fc.nat(20) }).map((drawn): Step => ({
  person: drawn.person,
  name: 'removes',
  operationIn(world) {
    const row = nth(rowsOf(world, drawn.table), drawn.place)
    return row && remove(drawn.table, row.key)
  },
}))

const answer = fc
  .record({ person, place: fc.nat(20), said: pick('accepted', 'rejected'), time })
  .map((drawn): Step => ({
    person: drawn.person,
    name: 'answers',
    operationIn(world) {
      const rows = rowsOf(world, 'members')
      const row = nth(
        rows.filter(({ value }) => isAddressedTo(value, drawn.person)),
        drawn.place,
      )
      return row && put('members', { ...row.value, [drawn.said]: drawn.time })
    },
  }))

/** Nothing but its roles may stand in the way: they may be unknown, or those of another realm. */
const invitation = fc
  .record({ person, realmId: sharedRealm, id: pick('mmb6', 'mmb7', 'mmb8', 'mmb9'), email, roles })
  .map(({ person: inviter, ...row }): Step => ({
    person: inviter,
    name: 'invites',
    operationIn: () => put('members', row),
  }))

/** Steps of a caller with GLOBAL_WRITE: they continue when no user manages a realm any more. */
const administration = fc.oneof(insertion, change, removal).map((step): Step => ({
  ...step,
  name: `${GLOBALLY} ${step.name}`,
  operationIn(world) {
    const operation = step.operationIn(world)
    return operation && through('all', operation)
  },
}))

const erasure = fc.record({ person }).map((drawn): Step => ({
  ...drawn,
  name: ERASURE,
  operationIn: () => undefined,
}))

/** Any of these. */
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: insertion, weight: 5 },
  { arbitrary: change, weight: 6 },
  { arbitrary: removal, weight: 2 },
  { arbitrary: answer, weight: 4 },
  { arbitrary: invitation, weight: 3 },
  { arbitrary: administration, weight: 2 },
  { arbitrary: erasure, weight: 1 },
)

export const steps: fc.Arbitrary<readonly Step[]> = fc.array(anyStep, {
  minLength: 1,
  maxLength: 30,
  size: 'max',
})

const nth = <T>(items: readonly T[], place: number): T | undefined => items[place % items.length]
