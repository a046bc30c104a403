import * as fc from 'fast-check'
import { removeObject } from '../../../src/domain/object/remove'
import { upsertObjects } from '../../../src/domain/object/upsert'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import { SatchelError } from '../../../src/domain/value/error'
import { visibleTo } from '../../access/oracle'
import type { Person, Value } from '../../access/oracle-world'
import { actorFor, ADMINISTRATOR, inOrder } from '../../access/setup'
import { changed, createDevice, type Device, type LocalOperation, UNDEFINED } from './device'
import { type ModelServer, setupModelServer, TABLES } from './server'

const ALICE: Person = { id: 'alice', email: 'alice@example.com' }
const BOB: Person = { id: 'bob', email: 'bob@example.com' }
const CAROL: Person = { id: 'carol', email: 'carol@example.com' }
const DEVICES = [
  { person: ALICE, name: 'phone' },
  { person: ALICE, name: 'laptop' },
  { person: BOB, name: 'tablet' },
  { person: CAROL, name: 'desktop' },
]
const TEAM = 'rlm-team'
const SIDE = 'rlm-side'

const device = fc.nat({ max: DEVICES.length - 1 })
const key = fc.constantFrom('a', 'b', 'c', 'd')
const listName = fc.constantFrom('x', 'y')
const number = fc.nat({ max: 9 })
const realm = fc.constantFrom('', TEAM, SIDE)
const who = fc.constantFrom(ALICE, BOB, CAROL)

/** A path and what is written there. */
const write = fc.oneof(
  fc.tuple(fc.constantFrom('title', 'n', 'deep.x', 'deep.y'), number),
  fc.tuple(fc.constant('deep'), fc.constantFrom({ x: 7 }, { y: 8 }, 3)),
  fc.tuple(fc.constant('list'), listName),
  fc.tuple(fc.constantFrom('n', 'deep.x'), fc.constant({ '@@propmod': { add: 1 } })),
  fc.tuple(fc.constant('tags'), fc.constant({ '@@propmod': { add: ['z'] } })),
  fc.tuple(fc.constantFrom('title', 'deep', 'deep.x'), fc.constant(UNDEFINED)),
)
const spec = fc
  .array(write, { minLength: 1, maxLength: 2 })
  .map((writes): Value => Object.fromEntries(writes))
const criteria = fc.oneof(
  listName.map((lower) => ({ index: 'list', range: { type: 1, lower, upper: lower } })),
  fc.constant({ index: 'tags', range: { type: 1, lower: 'z', upper: 'z' } }),
  fc.constant({ index: UNDEFINED, range: { type: 3, lower: UNDEFINED, upper: UNDEFINED } }),
)
const permissions = fc.constantFrom<Value>(
  { manage: '*' },
  { add: ['items'] },
  { update: { items: ['title', 'n'] } },
  {},
)

const act = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom('add' as const, 'put' as const, 'upsert' as const),
      key,
      realm,
      list: listName,
      n: number,
      spec,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('update' as const),
      keys: fc.uniqueArray(key, { maxLength: 3 }),
      spec,
      isShared: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('modify' as const, 'deleteWhere' as const),
      criteria,
      spec,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), key }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('move' as const), key, realm }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('note' as const), n: number }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('invite' as const, 'grant' as const, 'kick' as const),
      realm: fc.constantFrom(TEAM, SIDE),
      who,
      permissions,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('accept' as const, 'reject' as const),
      realm: fc.constantFrom(TEAM, SIDE),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('open' as const, 'close' as const) }),
  },
)

type Act = typeof act extends fc.Arbitrary<infer T> ? T : never

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('work' as const),
      device,
      acts: fc.array(act, { minLength: 1, maxLength: 3 }),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'sync' as const,
        'sync' as const,
        'begin' as const,
        'finish' as const,
        'lose' as const,
        'listen' as const,
        'listen' as const,
        'disconnect' as const,
      ),
      device,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('repeat' as const), device, which: fc.nat(5) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('skew' as const),
      device,
      ms: fc.constantFrom(-3_600_000, -5_000, 0, 5_000, 3_600_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('rest' as const), key, realm, n: number }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
)

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

export const histories = fc.array(step, { minLength: 2, maxLength: 30, size: 'max' })

/** Plays a history until all clients are in step; resolves to everything that is wrong. */
export async function play(steps: readonly Step[]): Promise<readonly string[]> {
  await using server = await setupModelServer()
  const team = { realmId: TEAM, owner: ALICE.id }
  await rest(server, 'realms', team)
  await rest(server, 'members', memberOf(TEAM, BOB, { manage: '*' }))
  await rest(server, 'members', memberOf(TEAM, CAROL, { add: ['items'] }))
  const devices = DEVICES.map(({ person, name }) => createDevice(server, person, name))
  for (const one of devices) await one.synchronize()
  const complaints: string[] = []
  for (const one of steps) {
    await take(server, devices, one)
    await server.pass(1_000)
  }
  complaints.push(...(await settle(server, devices)))
  return [...complaints, ...server.leaks, ...server.reports.map(String)]
}

async function take(server: ModelServer, devices: readonly Device[], given: Step): Promise<void> {
  if (given.kind === 'restart') {
    for (const one of devices) one.disconnect()
    return await server.restart()
  }
  if (given.kind === 'rest') {
    const { key: id, realm: realmId, n } = given
    if (realmId === '') await restRemove(server, id)
    else await rest(server, 'items', { id, realmId, n, list: 'x', title: 'by REST' })
    return
  }
  const one = devices[given.device]!
  switch (given.kind) {
    case 'work': {
      const transaction = one.begins()
      for (const each of given.acts) {
        for (const operation of operationsOf(one, each)) transaction(operation)
      }
      return
    }
    case 'sync':
      return await one.synchronize()
    case 'begin':
      return await one.begin()
    case 'finish':
      return one.finish()
    case 'lose':
      await one.begin()
      return one.lose()
    case 'listen':
      one.connect()
      await server.pass(0)
      return await one.process()
    case 'disconnect':
      return one.disconnect()
    case 'repeat':
      return await one.repeat(given.which)
    case 'skew':
      return one.setSkew(given.ms)
  }
}

function operationsOf(one: Device, given: Act): LocalOperation[] {
  const { person } = one
  const items = one.rowsOf('items')
  const home = (id: string) => (id === '' ? person.id : id)
  switch (given.kind) {
    case 'add':
    case 'put':
    case 'upsert': {
      const { key: id, realm: realmId, list, n } = given
      const old = items.get(id)
      const place = { owner: old?.['owner'] ?? person.id, realmId: home(realmId) }
      const whole = { id, ...place, list, n, title: one.name, tags: n > 4 ? ['z'] : [] }
      const base = { table: 'items', keys: [id] }
      if (given.kind === 'add') {
        return old === undefined ? [{ ...base, type: 'insert', values: [whole] }] : []
      }
      if (given.kind === 'put') return [{ ...base, type: 'upsert', values: [whole] }]
      const values = [old === undefined ? whole : changed(old, given.spec)]
      return [{ ...base, type: 'upsert', values, changeSpecs: [given.spec] }]
    }
    case 'update': {
      const { keys, spec: each, isShared } = given
      const changeSpecs = isShared || keys.length === 0 ? [each] : keys.map(() => each)
      return [{ table: 'items', type: 'update', keys, changeSpecs }]
    }
    case 'modify':
    case 'deleteWhere': {
      const keys = matching(items, given.criteria)
      const base = { table: 'items', keys, criteria: given.criteria }
      return given.kind === 'modify'
        ? [{ ...base, type: 'modify', changeSpec: given.spec }]
        : [{ ...base, type: 'delete' }]
    }
    case 'delete':
      return [{ table: 'items', type: 'delete', keys: [given.key], criteria: UNDEFINED }]
    case 'move': {
      const changeSpecs = [{ realmId: home(given.realm) }]
      return [{ table: 'items', type: 'update', keys: [given.key], changeSpecs }]
    }
    case 'note': {
      const id = `#note:${person.id}`
      const values = [{ id, realmId: person.id, owner: person.id, n: given.n, $$ts: 1 }]
      return [{ table: 'notes', type: 'upsert', keys: [id], values }]
    }
    case 'invite':
    case 'grant': {
      const row = memberOf(given.realm, given.who, given.permissions)
      const { userId: _, ...invited } = { ...row, owner: person.id, invite: true }
      const values = [given.kind === 'invite' ? invited : { ...row, owner: person.id }]
      return [{ table: 'members', type: 'upsert', keys: [row.id], values }]
    }
    case 'kick': {
      const keys = [memberOf(given.realm, given.who, {}).id]
      return [{ table: 'members', type: 'delete', keys, criteria: UNDEFINED }]
    }
    case 'accept':
    case 'reject': {
      const keys = [memberOf(given.realm, person, {}).id]
      const date = { $t: 'Date', v: '2030-01-01T13:00:00.000Z' }
      const isYes = given.kind === 'accept'
      const changeSpecs = [isYes ? { accepted: date, rejected: UNDEFINED } : { rejected: date }]
      return [{ table: 'members', type: 'update', keys, changeSpecs }]
    }
    case 'open': {
      const values = [{ realmId: SIDE, owner: person.id, name: 'side' }]
      return [{ table: 'realms', type: 'insert', keys: [SIDE], values }]
    }
    case 'close':
      return [{ table: 'realms', type: 'delete', keys: [SIDE], criteria: UNDEFINED }]
  }
}

function memberOf(realmId: string, { id, email }: Person, permissions: Value) {
  return { id: `mmb-${realmId}-${id}`, realmId, userId: id, email, permissions }
}

function matching(
  items: ReadonlyMap<string, Value>,
  { index, range: { lower } }: { index: unknown; range: { lower: unknown } },
): string[] {
  const isIn = (row: Value) => {
    if (index === 'list') return row['list'] === lower
    const { tags } = row
    return typeof index !== 'string' || (Array.isArray(tags) && tags.includes(lower))
  }
  return [...items].filter(([, row]) => isIn(row)).map(([id]) => id)
}

const all = { actor: actorFor(ADMINISTRATOR, 'all'), view: 'all', rulesByTable: ROW_RULES } as const

async function rest({ database, clock }: ModelServer, table: string, object: object) {
  const given = { ...all, table, objects: [object], isArray: true, now: clock.now() }
  await unlessRefused(upsertObjects(database, given))
}

async function restRemove({ database, clock }: ModelServer, key: string) {
  await unlessRefused(removeObject(database, { ...all, table: 'items', key, now: clock.now() }))
}

async function unlessRefused(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof SatchelError)) throw error
  })
}

/**
 * All clients send their operations; then those with sockets hear of them, and the others pull.
 * Resolves to the differences to the rows that they see by the access oracle.
 */
async function settle(server: ModelServer, devices: readonly Device[]): Promise<string[]> {
  for (let tries = 0; tries < 6 && devices.some(({ isPending }) => isPending); tries += 1) {
    for (const one of devices) if (one.isPending) await one.synchronize()
  }
  for (let round = 0; round < 8; round += 1) {
    await server.pass(61_000)
    for (const one of devices) await one.process()
  }
  for (const one of devices) if (!one.isConnected) await one.synchronize()
  const complaints = devices
    .filter(({ isPending }) => isPending)
    .map(({ name }) => `${name} still has operations to send`)
  const world = await server.world()
  for (const one of devices) {
    for (const table of TABLES) {
      const expected = new Map(
        visibleTo(world, one.person, table).map((row) => [row.key, inOrder(row.value)]),
      )
      const held = one.rowsOf(table)
      for (const id of new Set([...expected.keys(), ...held.keys()])) {
        const row = held.get(id)
        const mine = row && inOrder(row)
        if (mine !== expected.get(id)) {
          const how = one.isConnected ? 'live' : 'pull'
          complaints.push(`${one.name} (${how}) ${table} ${id}: ${mine} is not ${expected.get(id)}`)
        }
      }
    }
  }
  return complaints
}
