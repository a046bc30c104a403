/** The first axis of the matrix (`promises.md` 24, 25): the relation of a user to each kind of realm. */
import type { Grant } from './oracle-permission'
import { type Person, PUBLIC, type Value } from './oracle-world'

export type SeedRow = readonly [table: string, value: Value]

export const ME: Person = { id: 'me', email: 'me@example.com' }

export const REALM_KINDS = {
  'their own private realm': 'me',
  'the private realm of another': 'bob',
  'a custom realm': 'rlmTeam',
  'a tied realm': 'rlm~list',
  'the public realm': PUBLIC,
  'an erased realm': 'rlmGone',
} as const

/** The way of a user into a realm: the rows that it takes. */
export interface Standing {
  readonly name: string
  readonly ownsRealm?: boolean
  rows(realm: string): readonly SeedRow[]
}

const GRANTS: readonly Grant[] = [
  {},
  { add: ['todoItems'] },
  { add: ['members'] },
  { add: '*' },
  { update: '*' },
  { update: { todoItems: '*', members: ['name'] } },
  { update: { todoItems: ['*'], realms: ['name'] } },
  { update: { todoItems: ['done'] } },
  { update: { todoItems: ['*', 'realmId', 'owner'], realms: ['owner'], roles: '*' } },
  { update: { members: ['*', 'owner', 'realmId'] }, add: ['members', 'roles'] },
  { update: { '*': '*' }, add: ['*'], manage: ['*'] },
  { manage: ['todoItems'] },
  { manage: ['members'] },
  { manage: ['members', 'todoItems'], update: '*' },
  { manage: ['roles'] },
  { manage: ['realms'] },
  { manage: ['members', 'roles', 'realms', 'todoItems', 'notes'] },
  { manage: '*' },
]

const member = (realm: string, given: Value): SeedRow => [
  'members',
  { id: 'mmbMine', realmId: realm, owner: 'bob', ...given },
]

const role = (realm: string, name: string, permissions: Grant): SeedRow => [
  'roles',
  { realmId: realm, name, permissions, owner: null },
]

export const date = (day: number): Value => ({ $t: 'Date', v: `2029-12-0${day}T12:00:00.000Z` })

export const OUTSIDERS: readonly Standing[] = [
  { name: 'a stranger', rows: () => [] },
  {
    name: 'invited by e-mail',
    rows: (realm) => [
      member(realm, { email: 'Me@Example.com', invite: true, permissions: { manage: '*' } }),
    ],
  },
  {
    name: 'gone by a refusal',
    rows: (realm) => [
      member(realm, {
        userId: 'me',
        permissions: { manage: '*' },
        accepted: date(1),
        rejected: date(2),
      }),
    ],
  },
  {
    name: 'a member of another name with the same e-mail',
    rows: (realm) => [
      member(realm, { userId: 'dora', email: 'me@example.com', permissions: { manage: '*' } }),
    ],
  },
]

export const INSIDERS: readonly Standing[] = [
  { name: 'the owner of the realm', ownsRealm: true, rows: () => [] },
  ...GRANTS.map((permissions) => ({
    name: `accepted with ${JSON.stringify(permissions)}`,
    rows: (realm: string) => [member(realm, { userId: 'me', permissions })],
  })),
  {
    name: 'back after a refusal',
    rows: (realm) => [
      member(realm, {
        userId: 'me',
        permissions: { manage: ['todoItems'] },
        accepted: date(3),
        rejected: date(2),
      }),
    ],
  },
  {
    name: 'accepted with two rows',
    rows: (realm) => [
      member(realm, { userId: 'me', permissions: { add: ['todoItems'] } }),
      [
        'members',
        {
          id: 'mmbMine2',
          realmId: realm,
          userId: 'me',
          owner: 'me',
          permissions: { update: { todoItems: ['title'] } },
        },
      ],
    ],
  },
  ...[
    { update: { todoItems: ['done'] } },
    { manage: ['members'] },
    { manage: '*' } as const,
  ].flatMap((permissions): Standing[] => [
    {
      name: `accepted with a global role of ${JSON.stringify(permissions)}`,
      rows: (realm) => [
        role(PUBLIC, 'part', permissions),
        member(realm, { userId: 'me', roles: ['part'] }),
      ],
    },
    {
      name: `accepted with a role of the realm of ${JSON.stringify(permissions)}`,
      rows: (realm) => [
        role(realm, 'part', permissions),
        member(realm, { userId: 'me', roles: ['nothing', 'part'] }),
      ],
    },
    {
      name: `accepted with a global role of ${JSON.stringify(permissions)} that the realm hides`,
      rows: (realm) => [
        role(PUBLIC, 'hidden', permissions),
        role(realm, 'hidden', { manage: ['roles'] }),
        member(realm, { userId: 'me', roles: ['hidden'] }),
      ],
    },
  ]),
]

/** The data before the first attempt. */
export const sceneOf = (realm: string, standing: Standing, ownsItem: boolean): SeedRow[] => {
  const isShared = realm.startsWith('rlm')
  const rows: SeedRow[] = [
    ['realms', { realmId: 'rlmOpen', owner: 'bob', name: 'where I may add' }],
    ['realms', { realmId: 'rlmRead', owner: 'bob', name: 'where I may read' }],
    ['realms', { realmId: 'rlmElse', owner: 'bob', name: 'where I am not' }],
    [
      'members',
      { id: 'mmbAdder', realmId: 'rlmOpen', userId: 'me', owner: 'bob', permissions: { add: '*' } },
    ],
    ['members', { id: 'mmbReader', realmId: 'rlmRead', userId: 'me', owner: 'bob' }],
    ['members', { id: 'mmbThere', realmId: 'rlmElse', email: 'erin@example.com', owner: 'bob' }],
    ['todoItems', { id: 'tdiMine', realmId: 'me', owner: 'me', title: 'mine' }],
    ['todoItems', { id: 'tdiElse', realmId: 'rlmElse', owner: 'me', title: 'lost to me' }],
    ['todoItems', { id: 'tdiPublic', realmId: PUBLIC, owner: null, title: 'for all' }],
    ['notes', { id: '#secret:me', realmId: 'me', owner: 'me', text: 'mine' }],
    ['notes', { id: '#secret:bob', realmId: 'bob', owner: 'bob', text: 'his' }],
    [
      'todoItems',
      {
        id: 'tdiItem',
        realmId: realm,
        owner: ownsItem ? 'me' : 'bob',
        title: 'an item',
        done: false,
      },
    ],
    ['todoItems', { id: 'list', realmId: realm, owner: 'bob', title: 'a list' }],
  ]
  if (!isShared) return rows
  if (realm !== PUBLIC) {
    const owner = standing.ownsRealm === true ? 'me' : 'bob'
    rows.push(['realms', { realmId: realm, owner, name: 'the realm' }])
  } else if (standing.ownsRealm === true) {
    rows.push(member(realm, { userId: 'me', permissions: { manage: '*' } }))
  }
  rows.push(
    role(PUBLIC, 'strong', { manage: '*' }),
    role(PUBLIC, 'local', { manage: '*' }),
    ['roles', { realmId: realm, name: 'local', permissions: { add: ['todoItems'] }, owner: 'me' }],
    [
      'members',
      {
        id: 'mmbDave',
        realmId: realm,
        userId: 'dave',
        name: 'Dave',
        owner: 'bob',
        permissions: { update: { todoItems: '*' } },
        accepted: date(1),
      },
    ],
    [
      'members',
      {
        id: 'mmbErin',
        realmId: realm,
        email: 'erin@example.com',
        owner: 'me',
        permissions: { add: ['todoItems'] },
      },
    ],
    [
      'members',
      { id: 'mmbFred', realmId: realm, email: 'fred@example.com', owner: 'bob', roles: ['strong'] },
    ],
    [
      'members',
      {
        id: 'mmbFormer',
        realmId: realm,
        userId: 'gina',
        owner: 'bob',
        accepted: date(1),
        rejected: date(2),
      },
    ],
    ...standing.rows(realm),
  )
  return rows
}
