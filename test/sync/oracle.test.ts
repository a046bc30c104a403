import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { Database } from '../../src/domain/store/store'
import { realmSetHash } from '../../src/domain/sync/realm-set'
import { eraseLeftovers } from '../access/erasure'
import { judge } from '../access/operation'
import { isAddressedTo, type Person, PUBLIC, type Value } from '../access/oracle-world'
import { ERASURE, FIRST_ROWS, PEOPLE, steps } from '../access/sequence'
import { act, actorFor, inOrder, list, seed, TABLES } from '../access/setup'
import { type Message, setupHub, settled, type TestHub, type TestSocket } from './setup'
import { answerSync } from '../domain/sync/setup'
import { readRequest } from '../domain/sync/read-request'

/** More with SATCHEL_RUNS=10000, others with SATCHEL_SEED. */
const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 40)
const SEED = Number(process.env['SATCHEL_SEED'] ?? 20300101)

interface Answer {
  readonly realms: readonly string[]
  readonly inviteRealms: readonly string[]
  readonly changes: Message['changes']
  readonly serverRevision: string
}

const SCHEMA = Object.fromEntries(
  TABLES.map((name) => [name, { markedForSync: true, initiallySynced: true }]),
)

/** Follows the protocol as the published add-on does (protocol.md §4.7, §4.8 and §5). */
class Client {
  readonly rows = new Map(TABLES.map((name) => [name, new Map<string, Value>()]))
  readonly #socket: TestSocket
  #last: Answer | undefined
  #rev = ''
  #taken = 0

  constructor(
    readonly scene: TestHub,
    readonly person: Person,
  ) {
    this.#socket = scene.connect(person, { identity: person.id })
  }

  /** Processes what it has received; false when there was nothing. */
  async process(): Promise<boolean> {
    const waiting = this.#socket.messages.slice(this.#taken)
    if (waiting.length === 0) return false
    this.#taken += waiting.length
    for (const message of waiting) await this.#take(message)
    this.#ready()
    return true
  }

  async pull(): Promise<void> {
    const { database, hub } = this.scene
    using answering = hub.answering(this.person.id, this.person.id)
    const answer = await pullFrom(database, this.person, this.#last, this.#rev)
    const { realms, inviteRealms, serverRevision, end } = answer
    answering.answered({ ...end, tables: new Set(TABLES), texts: '' })
    for (const [table, rows] of this.rows) {
      for (const [key, value] of rows) {
        const realm = String(value['realmId'])
        const isMeta = ['realms', 'members', 'roles'].includes(table)
        const had = this.#last?.realms.includes(realm) === true
        const wasInvited = this.#last?.inviteRealms.includes(realm) === true
        const isGone = had && !realms.includes(realm) && !(isMeta && inviteRealms.includes(realm))
        const isOver =
          isMeta && (had || wasInvited) && ![...realms, ...inviteRealms].includes(realm)
        if (isGone || isOver) rows.delete(key)
      }
    }
    this.#apply(answer.changes)
    this.#last = answer
    this.#rev = serverRevision
    this.#ready()
  }

  async #take(message: Message): Promise<void> {
    if (message.type !== 'changes') {
      await this.pull()
      return
    }
    if (message.baseRev !== this.#rev) return
    if (message.realmSetHash !== this.#hash()) {
      await this.pull()
      return
    }
    this.#apply(message.changes)
    this.#rev = message.newRev ?? ''
  }

  #apply(changes: Message['changes']): void {
    for (const { table, muts } of changes ?? []) {
      const rows = this.rows.get(table)
      for (const { type, keys, values, changeSpecs } of muts) {
        for (const [place, key] of keys.entries()) {
          if (type === 'delete') rows?.delete(key)
          else if (type === 'upsert') rows?.set(key, values?.[place] as Value)
          else this.#update(table, key, changeSpecs?.[place] as Value)
        }
      }
    }
  }

  #update(table: string, key: string, spec: Value): void {
    const before = this.rows.get(table)?.get(key)
    if (before === undefined) return
    const after = Object.entries({ ...before, ...spec }).filter(
      ([, value]) => JSON.stringify(value) !== '{"$t":"undefined"}',
    )
    this.rows.get(table)?.set(key, Object.fromEntries(after))
  }

  #hash(): string {
    return realmSetHash(this.#last?.realms ?? [], this.#last?.inviteRealms ?? [])
  }

  #ready(): void {
    this.#socket.ready({ rev: this.#rev, realmSetHash: this.#hash() })
  }
}

async function pullFrom(
  database: Database,
  person: Person,
  last: Answer | undefined,
  serverRevision: string,
) {
  const { realms, inviteRealms } = last ?? {}
  const request = readRequest({
    clientIdentity: person.id,
    schema: SCHEMA,
    lastPull: last && { serverRevision, realms, inviteRealms },
  })
  const actor = actorFor(person, 'my')
  let text = ''
  for await (const part of answerSync(database, {
    actor,
    request,
    named: new Map(),
    rejections: [],
  })) {
    text += part.text
    if (part.end !== undefined) return { ...(JSON.parse(text) as Answer), end: part.end }
  }
  throw new Error('the answer has no end')
}

/** Lets every client process what it gets, until nobody gets anything. */
async function converge({ hub }: TestHub, clients: readonly Client[]): Promise<void> {
  for (let round = 0; round < 50; round += 1) {
    // What jobs change comes once a second.
    hub.tick()
    await settled()
    const isBusy = await Promise.all(clients.map((client) => client.process()))
    if (!isBusy.includes(true)) return
  }
  throw new Error('the clients do not come to rest')
}

/** Rows that a client has and should not have, or lacks. */
async function differences({ scene, person, rows }: Client): Promise<string[]> {
  const wrong: string[] = []
  for (const table of TABLES) {
    const visible = await list(scene.database, actorFor(person, 'my'), 'my', table)
    const expected = visible.filter((value) => isSynced(table, value, person)).map(inOrder)
    const found = [...(rows.get(table)?.values() ?? [])].map(inOrder)
    const extra = found.filter((row) => !expected.includes(row))
    const missing = expected.filter((row) => !found.includes(row))
    wrong.push(...extra.map((row) => `${person.id} has ${table} ${row}`))
    wrong.push(...missing.map((row) => `${person.id} lacks ${table} ${row}`))
  }
  return wrong
}

/** Of the members of the public realm everyone gets only their own rows. */
function isSynced(table: string, value: Value, person: Person): boolean {
  return table !== 'members' || value['realmId'] !== PUBLIC || isAddressedTo(value, person)
}

test(
  'after any sequence of operations, each client has exactly the objects that its user may read',
  async () => {
    const property = fc.asyncProperty(steps, fc.array(fc.boolean()), async (drawn, rests) => {
      await using scene = await setupHub()
      const { database } = scene
      let world = await seed(database, FIRST_ROWS)
      const clients = PEOPLE.map((person) => new Client(scene, person))
      for (const client of clients) await client.pull()
      const story: string[] = []
      for (const [place, step] of drawn.entries()) {
        if (step.name === ERASURE) await eraseLeftovers(database)
        const operation = step.operationIn(world)
        if (operation === undefined) continue
        story.push(`${step.person.id} ${step.name} ${JSON.stringify(operation)}`)
        const verdict = judge(world, step.person, operation)
        await act(database, step.person, operation)
        if (verdict.allowed) world = verdict.world
        // Some clients hear of each change, others of several at once.
        if (rests[place % Math.max(1, rests.length)] !== true) continue
        await converge(scene, clients)
        const wrong = (await Promise.all(clients.map(differences))).flat()
        expect({ story, wrong }).toEqual({ story, wrong: [] })
      }
      await converge(scene, clients)
      const wrong = (await Promise.all(clients.map(differences))).flat()
      expect({ story, wrong, reports: scene.reports }).toEqual({ story, wrong: [], reports: [] })
    })
    await fc.assert(property, { numRuns: RUNS, seed: SEED })
  },
  60_000 + RUNS * 1_000,
)
