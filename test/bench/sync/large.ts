import type { Bench } from '../bench'
import { openEmptySatchel } from '../fixture'
import { atMost, type Figure } from '../result'
import { itemText, members, writerRealms } from '../rows'
import type { Satchel } from '../satchel'
import { percentile } from '../statistics'
import { openClient, type Person } from './client'

const ROWS = 100_000
/** The pause of the other writer between two writes, ms. */
const PAUSE = 20
/** The longest wait of a write, ms (design.md §3). */
const LONGEST = 5_000
const realm = writerRealms[0] ?? ''
const { userId } = members.writer

/**
 * Requests with 100,000 new rows, while somebody else writes: the longest wait of that writer is the
 * time for which one transaction holds the database; an upload is written in parts.
 */
export async function measureLargePushes(bench: Bench): Promise<Figure[]> {
  await using satchel = await openEmptySatchel(bench)
  const person = { userId, token: await satchel.issueToken('writer') }
  const waits: number[] = []
  const slow: number[] = []
  for (let round = 0; round < bench.options.rounds; round += 1) {
    waits.push(Math.max(...(await waitsBeside(satchel, person, `t${round}`, `tx${round}`))))
    slow.push(percentile(await waitsBeside(satchel, person, `u${round}`, `upload-${round}`), 0.99))
    bench.say(
      `  round ${round + 1}: one transaction ${Math.round(waits.at(-1) ?? 0)} ms, upload p99 ${Math.round(slow.at(-1) ?? 0)} ms`,
    )
  }
  const rows = ROWS.toLocaleString('en')
  return [
    {
      title: `Others' longest wait to write, ${rows} rows in one transaction`,
      bar: atMost(2_000, 1_000, 'ms'),
      values: waits,
      value: Math.max(...waits),
    },
    {
      title: `Others' writes, ${rows} rows in one upload, p99`,
      bar: atMost(100, 50, 'ms'),
      values: slow,
      value: Math.max(...slow),
    },
  ]
}

/** The times of another client's writes during one request, ms. */
async function waitsBeside(
  satchel: Satchel,
  person: Person,
  stamp: string,
  txid: string,
): Promise<number[]> {
  const client = openClient(satchel.url, person, stamp)
  await client.sync([])
  const other = openClient(satchel.url, person, 'other')
  const values = Array.from({ length: ROWS }, (_, n) => JSON.parse(textOf(stamp, n)) as object)
  const keys = values.map((value) => (value as { readonly id: string }).id)
  const mut = { type: 'insert', keys, values, txid, ts: Date.now(), opNo: 1, rev: 1, userId }
  const waits: number[] = []
  let isOver = false
  const pushing = client.sync([{ table: 'items', muts: [mut] }]).finally(() => {
    isOver = true
  })
  for (let count = 0; !isOver; count += 1) {
    await Bun.sleep(PAUSE)
    const begun = performance.now()
    const failure = await other
      .post(textOf(`${stamp}other`, count))
      .catch((error: unknown) => error)
    const wait = performance.now() - begun
    // A write that waits longer is refused.
    if (failure instanceof Error && wait < LONGEST) throw failure
    waits.push(wait)
  }
  await pushing
  return waits
}

function textOf(stamp: string, number: number): string {
  const id = `itm${stamp.padStart(12, '0')}${String(number).padStart(12, '0')}`
  return itemText({ id, realmId: realm, owner: userId, country: 'c0001', rank: 1 }, number)
}
