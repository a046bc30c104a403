import { resetPeak } from '../bench/server-process'
import type { Caller } from '../http/setup'
import { type Attack, experimentOf, type Stage } from './attack'
import type { Experiment } from './experiment'
import { MUT, pusher } from './hostile-syncs'

/** How much the process may grow beside one operation on 200,000 rows, MiB. */
const MOST_GROWTH = 300
const NEXT = { n: { '@@propmod': { add: 1 } } }
const EVERY = { criteria: { index: 'list', range: { type: 1, lower: 1, upper: 1 } } }

/** The largest work of honest clients, in one request to `/sync`. */
const LARGE: readonly Attack[] = [
  ...[50_000, 200_000].map((rows): Attack => ({
    title: `a modify over ${rows.toLocaleString('en')} own rows, and their deletion by criteria`,
    async run(stage) {
      await fill(stage.mallory, rows)
      const modify = { ...mut('modify'), ...EVERY, changeSpec: NEXT }
      await grown(stage, 'modify', pusher(stage.mallory, [modify]))
      await grown(stage, 'again', pusher(stage.mallory, [modify]))
      await grown(stage, 'delete', pusher(stage.mallory, [{ ...mut('delete'), ...EVERY }]))
    },
  })),
  {
    title: 'an update of 200,000 keys',
    async run(stage) {
      const keys = await fill(stage.mallory, 200_000)
      const update = { ...mut('update'), keys, changeSpecs: [NEXT] }
      await grown(stage, 'update', pusher(stage.mallory, [update]))
    },
  },
  {
    title: 'several operations of a transaction on 100,000 rows, and on one row more',
    async run({ hurl, mallory }) {
      const keys = await fill(mallory, 100_000)
      const both = (keysOf: readonly string[], txid: string) => [
        { ...MUT, txid, type: 'update', keys: keysOf.slice(0, 50_000), changeSpecs: [NEXT] },
        { ...MUT, txid, type: 'update', keys: keysOf.slice(50_000), changeSpecs: [NEXT] },
      ]
      await hurl('100,001 rows', ['rejected'], pusher(mallory, both([...keys, 'one'], 'more')))
      await hurl('100,000 rows', [200], pusher(mallory, both(keys, 'most')))
    },
  },
  {
    title: '50,000 operations of one transaction',
    async run({ hurl, mallory }) {
      const muts = Array.from({ length: 50_000 }, (_, n) => {
        const values = [{ id: `o${n}`, realmId: MUT.userId, owner: MUT.userId, n }]
        return { ...MUT, txid: 'many', opNo: n + 1, type: 'insert', keys: [`o${n}`], values }
      })
      await hurl('inserts', [200], pusher(mallory, muts))
      const updates = muts.map((one) => ({
        ...one,
        txid: 'updates',
        type: 'update',
        values: undefined,
        changeSpecs: [NEXT],
      }))
      await hurl('updates', [200], pusher(mallory, updates))
    },
  },
  {
    title: '20,000 rows of members in one transaction',
    async run({ hurl, mallory }) {
      await mallory.post('/my/realms', { realmId: 'rlm-many', name: 'Many' })
      const keys = Array.from({ length: 20_000 }, (_, n) => `mmb-${n}`)
      const values = keys.map((id, n) => ({
        id,
        realmId: 'rlm-many',
        owner: MUT.userId,
        email: `m${n}@example.com`,
        permissions: { manage: '*' },
      }))
      await hurl('members', [200], pusher(mallory, [{ ...mut('insert'), keys, values }], 'members'))
    },
  },
  {
    title: '10,000 realms in one transaction',
    async run({ hurl, mallory }) {
      const keys = Array.from({ length: 10_000 }, (_, n) => `rlm-${n}`)
      const values = keys.map((realmId) => ({ realmId, owner: MUT.userId, name: realmId }))
      await hurl('realms', [200], pusher(mallory, [{ ...mut('insert'), keys, values }], 'realms'))
    },
  },
  {
    title: '10,000 updates of an object of 1 MB',
    async run({ hurl, mallory }) {
      await mallory.post('/my/plain', { id: 'large', n: 0, text: 'x'.repeat(1_000_000) })
      const update = { ...MUT, txid: 'often', type: 'update', keys: ['large'], changeSpecs: [NEXT] }
      await hurl(
        'updates',
        [200],
        pusher(
          mallory,
          Array.from({ length: 10_000 }, () => update),
        ),
      )
    },
  },
]

export const largeSyncs: readonly Experiment[] = LARGE.map((attack) => experimentOf(48, attack))

let made = 0

function mut(type: string): object {
  made += 1
  return { ...MUT, txid: `large${made}`, type }
}

async function fill(caller: Caller, count: number): Promise<string[]> {
  const rows = Array.from({ length: count }, (_, n) => ({ id: `row${n}`, list: 1, n: 0 }))
  for (let start = 0; start < count; start += 50_000) {
    await caller.post('/my/plain', rows.slice(start, start + 50_000), { prefer: 'return=minimal' })
  }
  return rows.map(({ id }) => id)
}

async function grown(
  { hurl, executable, facts, problems }: Stage,
  title: string,
  send: () => Promise<number | string>,
): Promise<void> {
  await resetPeak(executable.served.pid)
  const before = executable.memory().now
  const begun = performance.now()
  await hurl(title, [200], send)
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1)
  const growth = Math.round(executable.memory().peak - before)
  facts.push(`in ${seconds} s, grown by ${growth} MiB`)
  if (growth > MOST_GROWTH) problems.push(`${title}: the process grew by ${growth} MiB`)
}
