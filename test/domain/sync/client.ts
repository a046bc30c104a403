import type { Actor } from '../../../src/domain/access/actor'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import type { Database } from '../../../src/domain/store/store'
import { type Answer, NOW, openWorld, SCHEMA, user, sync } from './setup'
import { readRequest } from './read-request'

export const ALICE = user('alice@example.com')
export const BOB = user('bob@example.com')
export const TEAM = { realmId: 'rlmTeam' }
/** Bob in the realm of the team. */
export const MEMBER = { id: 'mmbBob', realmId: 'rlmTeam', userId: BOB.subject, name: 'Bob' }
const LIMITS = {
  maxObjects: 100,
  maxRows: 100,
  maxEntries: 100,
  maxRequestEntries: 1_000,
  maxProperties: 100,
  maxDepth: 10,
}

type Sent = Readonly<Record<string, unknown>>

/** A client that sends operations and keeps what `lastPull` and `baseRevs` are made of. */
export function createClient(
  database: Database,
  actor: Actor,
  clientIdentity = `${actor.subject}'s`,
) {
  let lastPull: object | undefined
  let baseRevs: object[] = []
  let rev = 0

  async function send(body: object): Promise<Answer> {
    const all = { v: 3, clientIdentity, schema: SCHEMA, lastPull, baseRevs, ...body }
    const request = readRequest(JSON.parse(JSON.stringify(all)))
    let text = ''
    const given = { actor, request, now: NOW, rulesByTable: ROW_RULES, limits: LIMITS }
    for await (const part of sync(database, given)) text += part.text
    const answer = JSON.parse(text) as Answer
    const { serverRevision, realms, inviteRealms } = answer
    lastPull = { serverRevision, realms, inviteRealms }
    baseRevs = [{ tableName: 'items', clientRev: rev + 1, serverRev: serverRevision }]
    return answer
  }

  return {
    pull: () => send({ changes: [] }),
    /** Sends each operation on `items` as a transaction of its own. */
    async push(...operations: readonly Sent[]): Promise<Answer> {
      const muts = operations.map((operation) => {
        rev += 1
        const txid = `${clientIdentity} ${rev}`
        return { txid, ts: NOW + rev, opNo: 1, rev, userId: actor.subject, ...operation }
      })
      return send({ changes: [{ table: 'items', muts }] })
    },
    send,
  }
}

export const insert = (value: Readonly<Record<string, unknown>>) => ({
  type: 'insert',
  keys: [value['id']],
  values: [value],
})
export const update = (key: string, change: object) => ({
  type: 'update',
  keys: [key],
  changeSpecs: [change],
})

/** Alice and Bob share a realm with an object. */
export async function setupTeam() {
  const world = await openWorld()
  await world.put(ALICE, 'realms', TEAM)
  const member = { id: 'mmbBob', ...TEAM, userId: BOB.subject, permissions: { manage: '*' } }
  await world.putAll('members', member)
  await world.put(ALICE, 'items', { id: 'itm1', ...TEAM, a: 1, b: 1 })
  const [alice, bob] = [createClient(world.database, ALICE), createClient(world.database, BOB)]
  await alice.pull()
  await bob.pull()
  return { world, alice, bob, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}
