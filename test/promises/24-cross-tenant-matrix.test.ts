import { describe, expect, test } from 'bun:test'
import { asClient } from '../auth/setup'
import { type Answer, type Caller, callerOf, type DataServer, setupData } from '../http/setup'
import { fill as fillPath, setupDocument } from '../openapi/setup'

/**
 * Promise 24: the cross-tenant matrix. Every data endpoint × every role × every place an object can
 * be in, compared with an oracle that restates protocol.md §6.3 and design.md §5 as a table; after
 * each request the store is asked what really happened. Zero leaks. `test/access` plays whole
 * histories against a larger oracle; this is the same question over HTTP.
 */

const ROLES = [
  'anonymous',
  'foreigner',
  'powerless',
  'stranger',
  'invited',
  'viewer',
  'adder',
  'updater',
  'manager',
  'author',
  'realmOwner',
  'globalReader',
  'globalWriter',
] as const
type Role = (typeof ROLES)[number]

/** `own` is the private realm of the caller, `gone` a deleted object, `goneRealm` a deleted realm. */
const PLACES = ['own', 'private', 'shared', 'other', 'public', 'gone', 'goneRealm'] as const
type Place = (typeof PLACES)[number]

type View = 'all' | 'my' | 'public'

/** The ways to a view: by its address or the short one, and with which method objects are written. */
const WAYS = [
  { view: 'all', path: '/all', method: 'POST' },
  { view: 'all', path: '/all', method: 'PUT' },
  { view: 'my', path: '/my', method: 'POST' },
  { view: 'my', path: '/my', method: 'PUT' },
  { view: 'my', path: '', method: 'POST' },
  { view: 'my', path: '', method: 'PUT' },
  { view: 'public', path: '/public', method: 'POST' },
  { view: 'public', path: '/public', method: 'PUT' },
] as const
type Way = (typeof WAYS)[number]

const ACTIONS = ['list', 'get', 'tick', 'retitle', 'insert', 'move', 'delete'] as const
type Action = (typeof ACTIONS)[number]

const PERMISSIONS: Partial<Record<Role, object>> = {
  viewer: {},
  adder: { add: ['plain'] },
  updater: { update: { plain: ['done'] } },
  manager: { manage: ['plain'] },
  author: {},
}

const SECRET = 'only-for-those-who-may-read'

// Expected results ----------------------------------------------------------------------------

const MEMBERS: readonly Role[] = ['viewer', 'adder', 'updater', 'manager', 'author', 'realmOwner']
const isWrite = (action: Action) => action !== 'list' && action !== 'get'
const isGone = (place: Place) => place === 'gone' || place === 'goneRealm'

/** The refusal at the door, before any object is looked at; undefined for admitted callers. */
function atTheDoor(role: Role, view: View, action: Action): number | undefined {
  if (role === 'foreigner') return 401
  if (view === 'public' && !isWrite(action)) return undefined
  if (role === 'anonymous') return 401
  if (role === 'powerless') return 403
  if (view === 'my' || role === 'globalWriter') return undefined
  return role === 'globalReader' && !isWrite(action) ? undefined : 403
}

function isVisible(role: Role, place: Place): boolean {
  if (isGone(place)) return false
  if (place === 'public') return true
  if (place === 'own') return !['anonymous', 'foreigner', 'powerless'].includes(role)
  return place === 'shared' && MEMBERS.includes(role)
}

function isShown(role: Role, place: Place, view: View): boolean {
  if (isGone(place)) return false
  if (view === 'all') return true
  return view === 'public' ? place === 'public' : isVisible(role, place)
}

/** Everything on the object: its owner, managers of its table, the user of its private realm. */
function hasAll(role: Role, place: Place): boolean {
  if (place === 'own' || role === 'globalWriter') return true
  if (role === 'author') return isVisible(role, place)
  return place === 'shared' && (role === 'manager' || role === 'realmOwner')
}

function expected(role: Role, place: Place, view: View, action: Action): number {
  const door = atTheDoor(role, view, action)
  if (door !== undefined) return door
  switch (action) {
    case 'list':
      return 200
    case 'get':
      return isShown(role, place, view) ? 200 : 404
    case 'delete':
      if (!isShown(role, place, view)) return 404
      return hasAll(role, place) ? 204 : 403
    case 'insert':
      return insertion(role, place, view)
    case 'tick':
    case 'retitle':
    case 'move':
      return change(role, place, view, action)
  }
}

/** A new key, with the realm of the place named. */
function insertion(role: Role, place: Place, view: View): number {
  if (view === 'public') return place === 'public' || place === 'gone' ? 200 : 422
  if (place === 'own') return 200
  if (role === 'globalWriter') return place === 'goneRealm' ? 422 : 200
  if (place === 'shared') return ['adder', 'manager', 'realmOwner'].includes(role) ? 200 : 403
  // The deleted object lay in the public realm.
  return 403
}

/** `tick` and `retitle` leave the realm open on /my, `move` names the caller's own. */
function change(role: Role, place: Place, view: View, action: Action): number {
  if (view === 'public') return changeInPublic(place, action)
  // The key is free: a new object of the caller, where /all wants a realm that is there.
  if (isGone(place)) return place === 'goneRealm' && view === 'all' && action !== 'move' ? 422 : 200
  if (hasAll(role, place)) return 200
  const mayTick = role === 'updater' && place === 'shared'
  return mayTick && action === 'tick' ? 200 : 403
}

function changeInPublic(place: Place, action: Action): number {
  if (action === 'move') return 422
  return place === 'public' || isGone(place) ? 200 : 409
}

// Actual results --------------------------------------------------------------------------------

interface World {
  readonly server: DataServer
  readonly caller: Caller
  readonly own: string
  readonly realms: Readonly<Record<Place, string>>
}

const GLOBAL = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']
const OTHER_USER = 'someone-else@example.com'

async function createWorld(server: DataServer, role: Role): Promise<World> {
  const { root } = server
  const own = `${role.toLowerCase()}@example.com`
  const realmOf = async (object: object) => {
    const { body } = await root.post('/all/realms', object)
    return (body as { realmId: string }).realmId
  }
  const shared = await realmOf({ name: 'Shared', owner: role === 'realmOwner' ? own : null })
  const other = await realmOf({ name: 'Other', owner: OTHER_USER })
  const goneRealm = await realmOf({ name: 'Gone', owner: null })
  const permissions = PERMISSIONS[role]
  if (permissions !== undefined) {
    await root.post('/all/members', { realmId: shared, userId: own, permissions })
    await root.post('/all/members', { realmId: goneRealm, userId: own, permissions })
  }
  if (role === 'invited') {
    const member = { realmId: shared, email: own, permissions: { manage: '*' } }
    await root.post('/all/members', member)
  }
  const caller = await callerAs(server, role, own)
  const subject = own
  const realms = {
    own: role.startsWith('global') ? server.client.clientId : subject,
    private: OTHER_USER,
    shared,
    other,
    public: 'rlm-public',
    gone: 'rlm-public',
    goneRealm,
  }
  return { server, caller, own: realms.own, realms }
}

async function callerAs(server: DataServer, role: Role, own: string): Promise<Caller> {
  if (role === 'anonymous') return server.anyone
  if (role === 'foreigner') {
    const { client } = await server.commands.run('db.create', { name: 'foreign' })
    const { body } = await callerOf(`${server.url}/foreign`).post('/token', {
      ...asClient(client),
      scopes: ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE'],
    })
    return callerOf(server.main, (body as { accessToken: string }).accessToken)
  }
  if (role === 'powerless') return server.as(own, ['MANAGE_DB'])
  if (role === 'globalReader') {
    return callerOf(server.main, await server.token({ scopes: ['ACCESS_DB', 'GLOBAL_READ'] }))
  }
  return role === 'globalWriter' ? server.root : server.as(own)
}

interface Case {
  readonly place: Place
  readonly way: Way
  readonly action: Action
  readonly id: string
}

const CASES: readonly Case[] = PLACES.flatMap((place) =>
  WAYS.flatMap((way, number) =>
    ACTIONS.map((action) => ({ place, way, action, id: `${place}-${number}-${action}` })),
  ),
)

const objectOf = ({ id }: Case) => ({ id, title: SECRET, done: false })

async function fill({ server, realms, own }: World, role: Role): Promise<void> {
  const owner = role === 'author' ? own : null
  const objects = CASES.map((each) => ({
    ...objectOf(each),
    realmId: realms[each.place],
    owner: each.place === 'own' || each.place === 'private' ? null : owner,
  }))
  const stored = await server.root.post('/all/plain', objects)
  if (stored.status !== 200) throw new Error(stored.text)
  const gone = CASES.filter(({ place }) => place === 'gone')
  for (const { id } of gone) await server.root.remove(`/all/plain/${id}`)
  await server.root.remove(`/all/realms/${realms.goneRealm}`)
  const lost = `/all/plain/${CASES.find(({ place }) => place === 'goneRealm')?.id}`
  while ((await server.root.get(lost)).status !== 404) await Bun.sleep(5)
}

function perform({ caller, realms, own }: World, each: Case): Promise<Answer> {
  const { way, action, id, place } = each
  const path = `${way.path}/plain`
  const realmId = realms[place]
  const named = way.view === 'all' ? { realmId } : {}
  const write = (object: Readonly<Record<string, unknown>>) =>
    way.method === 'POST'
      ? caller.post(path, object)
      : caller.send('PUT', `${path}/${String(object['id'])}`, { body: object })
  switch (action) {
    case 'list':
      return caller.get(path)
    case 'get':
      return caller.get(`${path}/${id}`)
    case 'tick':
      return write({ ...objectOf(each), ...named, done: true })
    case 'retitle':
      return write({ ...objectOf(each), ...named, title: 'changed' })
    case 'insert':
      return write({ id: `new-${id}`, realmId })
    case 'move':
      return write({ ...objectOf(each), realmId: own })
    case 'delete':
      return caller.remove(`${path}/${id}`)
  }
}

/** Refused writes left no trace, allowed ones are stored. Returns the faults. */
async function contradiction(
  world: World,
  each: Case,
  status: number,
): Promise<string | undefined> {
  const { action, id, place } = each
  const key = action === 'insert' ? `new-${id}` : id
  const { body } = await world.server.root.get(`/all/plain/${key}`)
  const found = body as Record<string, unknown>
  const isThere = 'id' in found
  if (!isWrite(action)) return undefined
  if (status >= 400) {
    const was = action !== 'insert' && !isGone(place)
    const isKept = !was || (found['title'] === SECRET && found['done'] === false)
    const isInPlace = !was || found['realmId'] === world.realms[place]
    return isThere === was && isKept && isInPlace ? undefined : 'refused, but something changed'
  }
  if (action === 'delete') return isThere ? 'deleted, but there' : undefined
  if (action === 'tick' && found['done'] !== true) return 'not ticked'
  if (action === 'retitle' && found['title'] !== 'changed') return 'not retitled'
  if (action === 'move' && found['realmId'] !== world.own) return 'not moved'
  return isThere ? undefined : 'accepted, but not there'
}

/** Ids that a list shows though it must not, or lacks though it must have them. */
function wrongInList(role: Role, { way }: Case, answer: Answer): string[] {
  if (answer.status !== 200) return []
  const shown = new Set((answer.body as { id: string }[]).map(({ id }) => id))
  return CASES.filter(({ action }) => action === 'list' || action === 'get')
    .filter(({ id, place }) => shown.has(id) !== isShown(role, place, way.view))
    .map(({ id }) => id)
}

describe('promise 24: the cross-tenant matrix (conformance 21, 24, 25, 29, 32)', () => {
  test.each(ROLES)('%s', async (role) => {
    await using server = await setupData()
    const world = await createWorld(server, role)
    await fill(world, role)
    const wrong: string[] = []
    for (const each of CASES) {
      const answer = await perform(world, each)
      const { view, path, method } = each.way
      const wanted = expected(role, each.place, view, each.action)
      const label = `${each.action} ${each.place} by ${method} ${path}/plain`
      if (answer.status !== wanted) wrong.push(`${label}: ${answer.status}, not ${wanted}`)
      if (answer.status >= 400 && answer.text.includes(SECRET)) wrong.push(`${label}: leaks`)
      if (each.action === 'list') wrong.push(...wrongInList(role, each, answer))
      const trace = await contradiction(world, each, answer.status)
      if (trace !== undefined) wrong.push(`${label}: ${trace}`)
    }
    expect(wrong).toEqual([])
  })

  test('the same person in two databases has two lives', async () => {
    await using server = await setupData()
    const { client } = await server.commands.run('db.create', { name: 'second' })
    const { body } = await callerOf(`${server.url}/second`).post('/token', {
      ...asClient(client),
      scopes: ['ACCESS_DB'],
      claims: { sub: 'alice@example.com', email: 'alice@example.com' },
    })
    const there = callerOf(`${server.url}/second`, (body as { accessToken: string }).accessToken)
    const here = await server.as('alice@example.com')
    const stored = await here.post('/my/realms', { name: 'Here' })
    const { realmId } = stored.body as { realmId: string }
    expect((await there.get('/my/realms')).text).toBe('[]')
    expect((await there.get(`/my/realms/${realmId}`)).status).toBe(404)
    expect((await there.remove(`/my/realms/${realmId}`)).status).toBe(404)
    expect((await here.get(`/my/realms/${realmId}`)).status).toBe(200)
  })
})

/** Everyone may send these; they have tests of their own. */
const OPEN = [
  'answerInvitation beginLogin checkHealth checkReadiness describeInterface describeService',
  'listen sync listLoginProviders listPublicKeys loadAsset publicGet publicList readDocumentation',
  'readGuide readGuides',
  'requestServiceToken requestServiceTokenOfSdk requestToken showInvitation',
].flatMap((line) => line.split(' '))

const EVERY = [...GLOBAL, 'MANAGE_DB', 'DELETE_DB']

/** These ask for scopes only if there is a token: promise 47 walks every door without a scope. */
const FOR_ALL = new Set(['listen', 'sync'])

/** These want a token of their own, from a login with a one-time code. */
const PROVEN = new Set(['connectClient', 'createDatabase', 'createDatabaseOfSdk'])

describe('promise 24: every endpoint', () => {
  test('that is not open refuses callers of other databases, deactivated and deleted', async () => {
    await using server = await setupDocument()
    const { root } = server
    const { client } = await server.commands.run('db.create', { name: 'foreign' })
    const { body } = await callerOf(`${server.url}/foreign`).post('/token', {
      ...asClient(client),
      scopes: EVERY,
    })
    const foreign = (body as { accessToken: string }).accessToken
    const [idle = '', left = ''] = await Promise.all(
      ['idle@example.com', 'left@example.com'].map((sub) => server.token({ sub, scopes: EVERY })),
    )
    await root.post('/users', { userId: 'idle@example.com', deactivated: true })
    expect((await root.remove('/users/left@example.com')).status).toBe(204)
    const wrong: string[] = []
    const open: string[] = []
    for (const { path, method, operation } of server.operations) {
      const scopes = operation['x-required-scopes']
      if (scopes === undefined || FOR_ALL.has(operation.operationId)) {
        open.push(operation.operationId)
        continue
      }
      const statusOf = async (token?: string) => {
        const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
        // Nothing is wrong with the request itself.
        const body = method === 'POST' ? '[]' : method === 'PUT' ? '{}' : undefined
        const sent = body === undefined ? {} : { body }
        return (await fetch(server.url + fillPath(path), { method, headers, ...sent })).status
      }
      const found = {
        anonymous: await statusOf(),
        foreign: await statusOf(foreign),
        left: await statusOf(left),
        idle: await statusOf(idle),
      }
      const isProven = PROVEN.has(operation.operationId)
      const wanted = { anonymous: 401, foreign: 401, left: 401, idle: isProven ? 401 : 403 }
      if (!Bun.deepEquals(found, wanted)) wrong.push(`${method} ${path}: ${JSON.stringify(found)}`)
    }
    expect(wrong).toEqual([])
    expect(open.toSorted()).toEqual(OPEN.toSorted())
  })

  test('of users admits readers of all, writers of all, and everyone to their own account', async () => {
    await using server = await setupDocument()
    const callers = {
      user: (sub: string) => server.as(sub),
      globalReader: (sub: string) => server.as(sub, ['ACCESS_DB', 'GLOBAL_READ']),
      globalWriter: (sub: string) => server.as(sub, GLOBAL),
    }
    const expectedOf = {
      user: { list: 403, own: 200, other: 403, none: 403, write: 403, remove: 403, leave: 204 },
      globalReader: {
        list: 200,
        own: 200,
        other: 200,
        none: 404,
        write: 403,
        remove: 403,
        leave: 204,
      },
      globalWriter: {
        list: 200,
        own: 200,
        other: 200,
        none: 404,
        write: 200,
        remove: 204,
        leave: 204,
      },
    }
    const found: Record<string, object> = {}
    for (const [role, as] of Object.entries(callers)) {
      const own = `${role.toLowerCase()}@example.com`
      const caller = await as(own)
      await server.as(OTHER_USER)
      const change = { userId: OTHER_USER, data: { displayName: 'Defaced' } }
      found[role] = {
        list: (await caller.get('/users')).status,
        own: (await caller.get(`/users/${own}`)).status,
        other: (await caller.get(`/users/${OTHER_USER}`)).status,
        none: (await caller.get('/users/nobody@example.com')).status,
        write: (await caller.post('/users', change)).status,
        remove: (await caller.remove(`/users/${OTHER_USER}`)).status,
        leave: (await caller.remove(`/users/${own}`)).status,
      }
      const { status, text } = await server.root.get(`/users/${OTHER_USER}`)
      const isWriter = role === 'globalWriter'
      expect({ role, status }).toEqual({ role, status: isWriter ? 404 : 200 })
      expect(text).not.toContain('Defaced')
    }
    expect(found).toEqual(expectedOf)
  })
})
