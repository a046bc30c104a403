import * as fc from 'fast-check'
import { visibleTo } from '../../access/oracle'
import type { Person, Value, World } from '../../access/oracle-world'
import { inOrder } from '../../access/setup'
import { act, type Cast, memberOf, operationsOf } from './acts'
import { type Causality, createCausality, type Executed } from './causality'
import { createDevice, type Device, type LocalOperation } from './device'
import { Died, type ModelServer, TABLES } from './server'

const DEVICES = [
  { owner: 0, name: 'phone' },
  { owner: 0, name: 'laptop' },
  { owner: 1, name: 'tablet' },
  { owner: 2, name: 'desktop' },
]

const device = fc.nat({ max: DEVICES.length - 1 })
const key = fc.constantFrom('a', 'b', 'c')
const acts = fc.array(act, { minLength: 1, maxLength: 3 })

const skew = fc.record({
  kind: fc.constant('skew' as const),
  device,
  ms: fc.constantFrom(-3_600_000, -5_000, 0, 5_000, 3_600_000),
})

const step = fc.oneof(
  { weight: 10, arbitrary: fc.record({ kind: fc.constant('work' as const), device, acts }) },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        'sync' as const,
        'sync' as const,
        'begin' as const,
        'begin' as const,
        'finish' as const,
        'lose' as const,
        'listen' as const,
        'listen' as const,
        'disconnect' as const,
        'drop' as const,
      ),
      device,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('repeat' as const), device, which: fc.nat(5) }),
  },
  { weight: 2, arbitrary: skew },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('rest' as const),
      key,
      realm: fc.constantFrom('none' as const, 'team' as const, 'side' as const),
      n: fc.nat({ max: 9 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('wipe' as const),
      device,
      keys: fc.uniqueArray(key, { maxLength: 2 }),
    }),
  },
)

/** They begin the database anew, which takes longer than all others. */
const end = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('kill' as const),
      device,
      commits: fc.nat({ max: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget' as const) }) },
)

type Step =
  typeof step extends fc.Arbitrary<infer T>
    ? T | (typeof end extends fc.Arbitrary<infer U> ? U : never)
    : never

const stretch = fc.array(step, { minLength: 1, maxLength: 15, size: 'max' })

/** Some clocks are wrong from the start, and every third history has an interruption. */
export const histories: fc.Arbitrary<readonly Step[]> = fc
  .tuple(
    fc.array(skew, { maxLength: 4, size: 'max' }),
    fc.oneof(
      { weight: 2, arbitrary: fc.array(step, { minLength: 2, maxLength: 30, size: 'max' }) },
      {
        weight: 1,
        arbitrary: fc
          .tuple(stretch, end, stretch)
          .map(([one, over, other]) => [...one, over, ...other]),
      },
    ),
  )
  .map(([skews, steps]) => [...skews, ...steps])

/** A history on its way. */
interface Play {
  readonly cast: Cast
  readonly server: ModelServer
  readonly devices: readonly Device[]
  readonly witness: Witness
  readonly isGuest: (device: Device) => boolean
}

/**
 * Plays a history until all clients are in step; resolves to everything that is wrong. `guests` take
 * the place of simulated devices, by their names.
 */
export async function play(
  server: ModelServer,
  cast: Cast,
  steps: readonly Step[],
  guests: ReadonlyMap<string, Device> = new Map(),
): Promise<readonly string[]> {
  const { team, counting, people } = cast
  const [alice, bob, carol] = people
  const witness = createWitness(server, cast)
  const counter = { realmId: counting, owner: null }
  const counters = people.map((one) => memberOf(counting, one, { update: { counts: ['n'] } }))
  await server.put('realms', { realmId: team, owner: alice.id }, counter)
  const members = [memberOf(team, bob, { manage: '*' }), memberOf(team, carol, { add: ['items'] })]
  await server.put('members', ...members, ...counters)
  await server.put('counts', { id: cast.key('count'), ...counter, owner: alice.id, n: 0 })
  const devices = DEVICES.map(
    ({ owner, name }) =>
      guests.get(name) ?? createDevice(witness.surroundings, people[owner]!, cast.key(name)),
  )
  const isGuest = (device: Device) => [...guests.values()].includes(device)
  const given = { cast, server, devices, witness, isGuest }
  for (const one of steps) {
    await take(given, one)
    await server.pass(1_000)
  }
  const complaints = await settle(given)
  for (const one of devices) one.disconnect()
  return [...complaints, ...(await witness.complaints()), ...server.reports()]
}

async function take({ cast, server, devices, witness, isGuest }: Play, given: Step): Promise<void> {
  const disconnectAll = () => devices.forEach((each) => each.disconnect())
  if (given.kind === 'restart') {
    disconnectAll()
    return await server.restart()
  }
  if (given.kind === 'forget') {
    for (const each of devices) await each.calm()
    return await server.forget()
  }
  if (given.kind === 'rest') return await witness.rest(given)
  const one = devices[given.device]!
  if (!one.isKnown) await one.synchronize()
  switch (given.kind) {
    case 'work':
      return one.transact(
        given.acts.map((each) => (tag) => {
          const operations = operationsOf(cast, one, each, tag)
          if (isGuest(one)) witness.guests.counts += countsIn(operations)
          return operations
        }),
      )
    case 'sync':
      return await one.synchronize()
    case 'begin':
      return void (await one.begin())
    case 'finish':
      return one.finish()
    case 'lose':
      await one.begin()
      return one.lose()
    case 'drop':
      return one.drop()
    case 'listen':
      one.connect()
      await server.pass(0)
      return void (await one.process())
    case 'disconnect':
      return one.disconnect()
    case 'repeat':
      return await one.repeat(given.which)
    case 'skew':
      return one.setSkew(given.ms)
    case 'wipe':
      return await one.wipe(
        given.keys.map((id) => ({ table: 'items', value: { id: cast.key(id), list: 'x', n: 1 } })),
      )
    case 'kill':
      server.dieAfter(given.commits)
      one.lose()
      await one.begin()
      one.lose()
      disconnectAll()
      return await server.restart()
  }
}

type Witness = ReturnType<typeof createWitness>

/** Stands between the devices and the server, and checks what goes through. */
function createWitness(server: ModelServer, cast: Cast) {
  const causality: Causality = createCausality()
  const complaints: string[] = []
  const heard: Promise<void>[] = []
  const { team, side, counting, people } = cast
  const realms = [team, side, counting, ...people.map(({ id }) => id)]
  const world = () => server.world(realms)
  /** The transactions by txid, and those that the server executed. */
  const begun = new Map<string, Executed>()
  const executed = new Set<string>()
  /** How often guests counted in transactions that may have been rejected. */
  const guests = { counts: 0 }
  /** Transactions of which the server died: they may have been executed. */
  const unknown = new Set<string>()

  async function sync(person: Person, body: string): Promise<string> {
    const before = await world()
    const txids = txidsIn(body)
    const known = (txid: string): readonly Executed[] => {
      const one = begun.get(txid)
      return one === undefined ? [] : [one]
    }
    try {
      const text = await server.sync(person, body)
      const after = await world()
      const answer = JSON.parse(text) as Answer
      const rejected = new Set(answer.rejections.map(({ txid }) => txid))
      const fresh = txids.filter((txid) => !rejected.has(txid) && !executed.has(txid))
      const seen = keysSeen(before, person).intersection(keysSeen(after, person))
      causality.executed(before, after, fresh.flatMap(known), seen)
      for (const txid of fresh) executed.add(txid)
      lookForLeaks(after, person, answer.changes)
      return text
    } catch (error) {
      if (!(error instanceof Died)) throw error
      const fresh = txids.filter((txid) => !executed.has(txid))
      for (const txid of fresh) unknown.add(txid)
      // Nothing is known of what they removed.
      const silent = fresh.flatMap(known).map((one) => ({ ...one, operations: [] }))
      causality.executed(before, await world(), silent, new Set())
      throw error
    }
  }

  /** Compares rows that were sent with what the access oracle says of the state now. */
  function lookForLeaks(now: World, person: Person, changes: Answer['changes'] = []): void {
    for (const { table, muts } of changes) {
      const visible = new Set(visibleTo(now, person, table).map((row) => row.key))
      const sent = muts.flatMap((mut) => (mut.type === 'delete' ? [] : mut.keys))
      for (const id of sent) {
        if (!visible.has(id)) complaints.push(`${person.id} was sent ${table} ${id}`)
      }
    }
  }

  return {
    world,
    guests,
    surroundings: {
      causality,
      server: {
        now: () => server.now(),
        sync,
        connect(person: Person, identity: string, receive: (text: string) => void) {
          return server.connect(person, identity, (text) => {
            receive(text)
            const { changes } = JSON.parse(text) as Partial<Answer>
            if (changes === undefined || !server.isPrompt) return
            heard.push(world().then((now) => lookForLeaks(now, person, changes)))
          })
        },
      },
      begun(txid: string, transaction: number, operations: readonly LocalOperation[]) {
        begun.set(txid, { transaction, operations })
      },
    },
    /** An administrator writes an object by REST, or removes it. */
    async rest(given: { key: string; realm: 'none' | 'team' | 'side'; n: number }) {
      const id = cast.key(given.key)
      const before = await world()
      if (given.realm === 'none') return await server.remove('items', id)
      const transaction = causality.begin(0n)
      const title = causality.tag(transaction, 'title')
      await server.put('items', { id, realmId: cast[given.realm], n: given.n, list: 'x', title })
      const own = { transaction, operations: [] }
      causality.executed(before, await world(), [own], new Set())
    },
    /** How often the counter was raised, at least and at most. */
    counted() {
      const count = (txids: Iterable<string>) =>
        countsIn([...txids].flatMap((txid) => begun.get(txid)?.operations ?? []))
      return { least: count(executed), most: count(executed.union(unknown)) + guests.counts }
    },
    async complaints() {
      await Promise.all(heard)
      return [...complaints, ...causality.complaints]
    },
  }
}

function countsIn(operations: readonly LocalOperation[]): number {
  return operations.filter(({ table }) => table === 'counts').length
}

interface Answer {
  readonly rejections: readonly { readonly txid: string }[]
  readonly changes: readonly {
    readonly table: string
    readonly muts: readonly { readonly type: string; readonly keys: readonly string[] }[]
  }[]
}

function txidsIn(body: string): string[] {
  const { changes } = JSON.parse(body) as { changes: { muts: { txid: string }[] }[] }
  return [...new Set(changes.flatMap(({ muts }) => muts.map(({ txid }) => txid)))]
}

function keysSeen(world: World, person: Person): Set<string> {
  return new Set(visibleTo(world, person, 'items').map(({ key: id }) => id))
}

/**
 * All clients send their operations; then those with sockets hear of them, and the others pull.
 * Resolves to the differences to the rows that they see by the access oracle.
 */
async function settle({ cast, server, devices: all, witness }: Play): Promise<string[]> {
  const devices = all.filter(({ isKnown }) => isKnown)
  for (let tries = 0; tries < 6 && devices.some(({ isPending }) => isPending); tries += 1) {
    for (const one of devices) if (one.isPending) await one.synchronize()
  }
  for (let round = 0; round < 8; round += 1) {
    await server.pass(61_000)
    const heard: boolean[] = []
    for (const one of devices) heard.push(await one.process())
    if (!heard.includes(true)) break
  }
  if (!server.isPrompt) for (const one of devices) one.disconnect()
  for (const one of devices) if (!one.isConnected) await one.synchronize()
  const world = await witness.world()
  for (const one of devices) {
    // The first answer after a long time drops realms, and the second one brings them.
    if (!one.isConnected && differences(world, one).length > 0) await one.synchronize()
  }
  const complaints = devices
    .filter(({ isPending }) => isPending)
    .map(({ name }) => `${name} still has operations to send`)
  for (const one of devices) complaints.push(...differences(world, one))
  const { least, most } = witness.counted()
  const count = world.rows.find((row) => row.key === cast.key('count'))?.value['n'] as number
  if (count < least || count > most) {
    complaints.push(`the counter is ${count}, and not between ${least} and ${most}`)
  }
  return complaints
}

function differences(world: World, one: Device): string[] {
  const found: string[] = []
  for (const table of TABLES) {
    const expected = new Map(
      visibleTo(world, one.person, table).map((row): [string, string] => [
        row.key,
        inOrder(row.value),
      ]),
    )
    const held: ReadonlyMap<string, Value> = one.rowsOf(table)
    for (const id of new Set([...expected.keys(), ...held.keys()])) {
      const row = held.get(id)
      const mine = row && inOrder(row)
      if (mine === expected.get(id)) continue
      const how = one.isConnected ? 'live' : 'pull'
      found.push(`${one.name} (${how}) ${table} ${id}: ${mine} is not ${expected.get(id)}`)
    }
  }
  return found
}
