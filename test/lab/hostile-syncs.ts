import type { Caller } from '../http/setup'
import { type Attack, experimentOf, type Stage } from './attack'
import { cpuOf, MOST_WRITE, type Waits } from './beside'
import type { Experiment } from './experiment'

/** No caller may notice that a request of another one is refused. */
const LITTLE: Waits = { write: 300, read: 100 }
/** The most memory of the process, MiB. */
const MOST_MEMORY = 600
/** Bytes of a body that are sent at once. */
const PIECE = 1024 * 1024
/** How much CPU may be spent in a second that begins one second after a caller has left, ms. */
const MOST_AFTER = 200

type Outcome = number | string

/** What no honest client sends, in requests to `/sync`. */
const ATTACKS: readonly Attack[] = [
  {
    title: 'criteria with an index of 20,000 parts, or of 100,000 dots, on 2,000 rows',
    async run({ hurl, mallory }) {
      await fill(mallory, 2_000)
      const parts = `[${Array.from({ length: 20_000 }, () => 'ab').join('+')}]`
      const names = { '20,000 parts': parts, '100,000 dots': `a${'.'.repeat(100_000)}` }
      for (const [what, index] of Object.entries(names)) {
        const send = pusher(mallory, [{ ...MUT, type: 'modify', ...criteria(index) }])
        await hurl(what, ['rejected'], send, LITTLE)
      }
    },
  },
  ...[20, 1_000].map((count): Attack => ({
    title: `${count.toLocaleString('en')} kept criteria as large as they may be, then a push of 200 rows of another member`,
    run: (stage) => replayKept(stage, count),
  })),
  {
    title: 'a schema with 16,000 new tables',
    async run({ hurl, mallory }) {
      const tables = Array.from({ length: 16_000 }, (_, n) => [
        `some table ${n}`,
        { markedForSync: true, primaryKey: 'id' },
      ])
      await hurl(
        '16,000 tables',
        [422],
        syncer(mallory, { schema: Object.fromEntries(tables) }),
        LITTLE,
      )
    },
  },
  {
    title: 'JSON of very many values, in fields that count and in one that does not',
    async run(stage) {
      const { hurl, mallory } = stage
      const objects = `[${'{},'.repeat(48_999_999)}{}]`
      await hurl(
        '49,000,000 objects in an ignored field',
        [200],
        raw(mallory, `"ignored":${objects}`),
        LITTLE,
      )
      requireMemory(stage, 'an ignored field')
      const numbers = `[${'1,'.repeat(29_999_999)}1]`
      await hurl(
        '30,000,000 numbers in an ignored field',
        [200],
        raw(mallory, `"ignored":${numbers}`),
        LITTLE,
      )
      requireMemory(stage, 'ignored numbers')
      for (const [what, list] of Object.entries({ objects, numbers })) {
        const insert = `{"type":"insert","txid":"${what}","keys":["a"],"values":[{"id":"a","n":${list}}]}`
        const changes = `"changes":[{"table":"plain","muts":[${insert}]}]`
        await hurl(`the ${what} in a row`, ['rejected'], raw(mallory, changes), LITTLE)
        requireMemory(stage, `${what} in a row`)
      }
    },
  },
  {
    title: 'a path of 20,000 or 50,000 names in a changeSpec',
    async run({ hurl, mallory }) {
      await fill(mallory, 1)
      for (const names of [20_000, 50_000]) {
        const path = Array.from({ length: names }, () => 'a').join('.')
        const update = { ...MUT, type: 'update', keys: ['row0'], changeSpecs: [{ [path]: 1 }] }
        await hurl(`${names} names`, ['rejected'], pusher(mallory, [update]), LITTLE)
      }
    },
  },
  {
    title: 'PropModifications that add 3,000,000 numbers, or 2,000 times to a list of 5,000',
    async run({ hurl, mallory }) {
      await fill(mallory, 1)
      const add = (items: readonly unknown[], txid: string) => ({
        ...MUT,
        txid,
        type: 'update',
        keys: ['row0'],
        changeSpecs: [{ list: { '@@propmod': { add: items } } }],
      })
      const numbers = Array.from({ length: 3_000_000 }, (_, n) => n)
      await hurl('3,000,000 numbers', ['rejected'], pusher(mallory, [add(numbers, 'many')]), LITTLE)
      const list = Array.from({ length: 5_000 }, (_, n) => `item ${n}`)
      const more = Array.from({ length: 2_000 }, (_, n) => add([`more ${n}`], 'often'))
      await hurl('2,000 adds', [200], pusher(mallory, [add(list, 'often'), ...more]), LITTLE)
    },
  },
  {
    title: '200,000 paths in one changeSpec',
    async run({ hurl, mallory }) {
      await fill(mallory, 1)
      const spec = Object.fromEntries(Array.from({ length: 200_000 }, (_, n) => [`p${n}.q`, n]))
      const update = { ...MUT, type: 'update', keys: ['row0'], changeSpecs: [spec] }
      await hurl('one object', ['rejected'], pusher(mallory, [update]), LITTLE)
    },
  },
  {
    title: '1,000,000 known realms',
    async run(stage) {
      const { hurl, mallory } = stage
      const realms = Array.from({ length: 1_000_000 }, (_, n) => `rlm-${n}`)
      const lastPull = { serverRevision: '[1,"1"]', realms, inviteRealms: [] }
      await hurl('1,000,000 realms', [200], syncer(mallory, { lastPull }), LITTLE)
      requireMemory(stage, '1,000,000 realms')
      const fewer = { ...lastPull, realms: realms.slice(0, 100_000) }
      await hurl('100,000 realms', [200], syncer(mallory, { lastPull: fewer }), LITTLE)
    },
  },
  {
    title: '500 criteria that match nothing, whose sender leaves',
    async run({ executable, mallory, facts, problems }) {
      await fill(mallory, 10_000)
      const muts = Array.from({ length: 500 }, (_, n) => ({
        ...MUT,
        type: 'modify',
        ...criteria('absent', { type: 1, lower: n, upper: n }),
      }))
      const body = bodyOf({ changes: [{ table: 'plain', muts }] })
      await fetch(`${executable.main}/sync`, {
        method: 'POST',
        body,
        headers: { authorization: `Bearer ${mallory.token}`, 'content-type': 'application/tson' },
        signal: AbortSignal.timeout(500),
      }).catch(() => undefined)
      await Bun.sleep(1_000)
      const before = cpuOf(executable)
      await Bun.sleep(1_000)
      const spent = cpuOf(executable) - before
      facts.push(`${spent} ms of CPU in the second after`)
      if (spent > MOST_AFTER) problems.push(`the work went on: ${spent} ms of CPU in a second`)
    },
  },
  {
    title: 'a push of 256 MiB',
    async run(stage) {
      const { hurl, mallory } = stage
      const text = 'x'.repeat(1_000)
      const muts = Array.from({ length: 1_240 }, (_, n) => ({
        ...MUT,
        txid: `large${n}`,
        type: 'insert',
        keys: Array.from({ length: 200 }, (_unused, k) => `large${n}-${k}`),
        values: Array.from({ length: 200 }, (_unused, k) => ({ id: `large${n}-${k}`, text })),
      }))
      const most = { write: 1_000, read: 300 }
      await hurl('248,000 rows', [200], pusher(mallory, muts), most)
      requireMemory(stage, '256 MiB')
    },
  },
]

export const hostileSyncs: readonly Experiment[] = ATTACKS.map((attack) => experimentOf(48, attack))

/** Names of a path, parts of an index, and characters of a bound: the most that are kept. */
const KEPT = { names: 31, parts: 16, bound: 450 }

/** The rows of another member come late, so that the kept operations are held against each of them. */
async function replayKept({ executable, root, hurl, mallory, facts }: Stage, count: number) {
  const victim = await executable.as('victim@example.com')
  const place = { realmId: 'rlm-kept', owner: MUT.userId }
  const owned = { ...place, owner: 'victim@example.com' }
  await root.post('/all/realms', place)
  const permissions = { manage: '*' }
  await root.post('/all/members', { ...place, userId: 'victim@example.com', permissions })
  const path = Array.from({ length: KEPT.names }, () => 'a').join('.')
  const parts = Array.from({ length: KEPT.parts }, () => path)
  const bound = (text: string) => parts.map(() => text)
  const muts = Array.from({ length: count }, (_, n) => ({
    ...MUT,
    txid: `kept${n}`,
    type: 'modify',
    criteria: {
      index: `[${parts.join('+')}]`,
      range: { type: 2, lower: bound(''), upper: bound('x'.repeat(KEPT.bound)) },
    },
    changeSpec: Object.fromEntries(Array.from({ length: 200 }, (_unused, at) => [`p${at}.q`, n])),
  }))
  const first = await victim.post('/sync', { ...FIELDS, clientIdentity: 'victim', changes: [] })
  const { serverRevision, realms } = first.body as { serverRevision: string; realms: string[] }
  await hurl('the operations', [200], pusher(mallory, muts))
  let value: unknown = 'w'
  for (let depth = 0; depth < KEPT.names; depth += 1) value = { a: value }
  const keys = Array.from({ length: 200 }, (_, n) => `late${n}`)
  const values = keys.map((id) => ({ id, ...owned, ...(value as object) }))
  const late = { ...MUT, userId: 'victim@example.com', type: 'insert', keys, values }
  const send = syncer(victim, {
    clientIdentity: 'victim',
    lastPull: { serverRevision, realms, inviteRealms: [] },
    changes: [{ table: 'plain', muts: [late] }],
  })
  // One unit, for which all others wait.
  await hurl('200 late rows', [200], send, { write: MOST_WRITE, read: MOST_WRITE })
  const { body } = await mallory.get('/my/plain/late0')
  facts.push(`${Object.keys(body as object).length} properties of a late row`)
}

export const MUT = { txid: 'attack', userId: 'mallory@example.com', ts: Date.now(), keys: [] }

function criteria(index: string, range: object = { type: 1, lower: 'x', upper: 'x' }) {
  return { criteria: { index, range }, changeSpec: { seen: 1 } }
}

const FIELDS = {
  v: 3,
  clientIdentity: 'mallory',
  schema: { plain: { markedForSync: true, initiallySynced: true, primaryKey: 'id' } },
  baseRevs: [],
}

const bodyOf = (more: object) => Buffer.from(JSON.stringify({ ...FIELDS, changes: [], ...more }))

/** The body is made in advance, because the probes run in this process too. */
function syncer(caller: Caller, more: object): () => Promise<Outcome> {
  return sender(caller, bodyOf(more))
}

export function pusher(
  caller: Caller,
  muts: readonly object[],
  table = 'plain',
): () => Promise<Outcome> {
  return syncer(caller, { changes: [{ table, muts }] })
}

/** The same with fields as JSON. */
function raw(caller: Caller, fields: string): () => Promise<Outcome> {
  return sender(caller, Buffer.from(`${JSON.stringify(FIELDS).slice(0, -1)},${fields}}`))
}

function sender(caller: Caller, body: Buffer): () => Promise<Outcome> {
  return async () => {
    const headers = { 'content-type': 'application/tson' }
    const answer = await caller.send('POST', '/sync', { body: inPieces(body), headers })
    const { rejections = [] } = (answer.body ?? {}) as { rejections?: readonly unknown[] }
    return rejections.length > 0 ? 'rejected' : answer.status
  }
}

/** A body of 147 MB that is sent as a whole stops this process, in which the others wait, for 140 ms. */
function inPieces(body: Buffer): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      controller.enqueue(new Uint8Array(body.subarray(at, (at += PIECE))))
      if (at >= body.length) controller.close()
    },
  })
}

async function fill(caller: Caller, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, n) => ({ id: `row${n}`, n, ab: 'x', list: [] }))
  await caller.post('/my/plain', rows, { prefer: 'return=minimal' })
}

function requireMemory({ executable, facts, problems }: Stage, what: string): void {
  const { peak } = executable.memory()
  facts.push(`${what}: at most ${Math.round(peak)} MiB`)
  if (peak > MOST_MEMORY) problems.push(`${what} took ${Math.round(peak)} MiB`)
}
