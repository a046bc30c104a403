import type { Bench, Workload } from '../bench'
import { download } from '../download'
import { openEmptySatchel } from '../fixture'
import { atMost, type Figure, ratio } from '../result'
import { batchTexts, itemText, members, writerRealms } from '../rows'
import type { Satchel } from '../satchel'
import { cpuMilliseconds, peakMegabytes, residentMegabytes, resetPeak } from '../server-process'
import { median, percentile } from '../statistics'
import { measureAddon } from './addon'
import { openClient, type Person } from './client'
import { measureCrowd } from './crowd'
import { measureLargePushes } from './large'
import { measureImport } from './import'
import { reportPouchdb } from './pouchdb'
import { measureRealms } from './realms'

/** Live sync (protocol.md §4, §5): pushes against posts, writes until others see them, first syncs. */
export const liveSync: Workload = {
  name: 'sync',
  async run(bench) {
    if (bench.options.isFloorOnly) return []
    const figures = [
      await measurePushes(bench),
      await measureTenClients(bench),
      await measureSeen(bench, 1, atMost(60, 30, 'ms')),
      await measureSeen(bench, 100, atMost(60, 30, 'ms')),
      await measureSeen(bench, 1_000, atMost(250, 150, 'ms')),
      await measureRealms(bench),
      ...(await measureLargePushes(bench)),
      ...(await measureFirstSyncs(bench, 10_000)),
    ]
    if (!bench.options.isLong) return figures
    figures.push(
      ...(await measureFirstSyncs(bench, 100_000)),
      ...(await measureFirstSyncs(bench, 1_000_000)),
      ...(await measureCrowd(bench)),
      ...(await measureImport(bench)),
      await measureAddon(bench),
    )
    await reportPouchdb(bench)
    return figures
  },
}

const realm = writerRealms[0] ?? ''
const { userId } = members.writer
/** Writes of one round whose way to the sockets is timed, and the pause after each, ms. */
const WRITES = 20
const PAUSE = 50

async function measurePushes(bench: Bench): Promise<Figure> {
  await using satchel = await openEmptySatchel(bench)
  const client = openClient(satchel.url, await writerOf(satchel), 'pusher')
  await client.sync([])
  const values: number[] = []
  for (let round = 0; round < bench.options.rounds; round += 1) {
    const posts = await ratePerSecond(bench, `post${round}`, (text) => client.post(text))
    await client.sync([])
    const pushes = await ratePerSecond(bench, `push${round}`, (text) => client.push(text))
    values.push(pushes / posts)
    bench.say(`  round ${round + 1}: ${Math.round(pushes)} pushes, ${Math.round(posts)} posts/s`)
  }
  const title = 'POST /sync of one object against POST /my/<t>, one connection'
  return { title, bar: ratio(0.5, 0.6), values, value: median(values) }
}

/** Clients that push to one table at the same time, each of a user with a private realm. */
const CLIENTS = 10

/** By the CPU time of the server: the clients take as much of the machine as it does. */
async function measureTenClients(bench: Bench): Promise<Figure> {
  await using satchel = await openEmptySatchel(bench)
  const people = Array.from({ length: CLIENTS }, (_, n) => `pusher${n}@example.com`)
  const clients = await Promise.all(
    people.map(async (person) => {
      const token = await satchel.issueTokenFor(person)
      return { person, client: openClient(satchel.url, { userId: person, token }, person) }
    }),
  )
  const { warmUp, seconds } = bench.options
  const cpuPer = async (kind: 'push' | 'post', stamp: string, lasting = seconds) => {
    for (const { client } of clients) await client.sync([])
    const before = await cpuMilliseconds(satchel.pid)
    const end = performance.now() + lasting * 1000
    let count = 0
    await Promise.all(
      clients.map(async ({ person, client }, n) => {
        while (performance.now() < end) {
          await client[kind](ownTextOf(`${stamp}n${n}x${count}`, person))
          count += 1
        }
      }),
    )
    return ((await cpuMilliseconds(satchel.pid)) - before) / count
  }
  await cpuPer('post', 'warmpost', warmUp)
  await cpuPer('push', 'warmpush', warmUp)
  const values: number[] = []
  for (let round = 0; round < bench.options.rounds; round += 1) {
    const post = await cpuPer('post', `p${round}`)
    const push = await cpuPer('push', `s${round}`)
    values.push(post / push)
    bench.say(
      `  round ${round + 1}: ${Math.round(push * 1000)} µs a push, ${Math.round(post * 1000)} µs a post`,
    )
  }
  const title = 'CPU of POST /my/<t> against POST /sync of one object, ten clients of one table'
  return { title, bar: ratio(0.5, 0.6), values, value: median(values) }
}

/** An object in the private realm of a person. */
function ownTextOf(stamp: string, person: string): string {
  const id = `itm${stamp.padStart(24, '0')}`
  return itemText({ id, realmId: person, owner: person, country: 'c0001', rank: 1 }, 1)
}

async function ratePerSecond(
  { options }: Bench,
  stamp: string,
  send: (text: string) => Promise<void>,
): Promise<number> {
  const begin = performance.now()
  let count = 0
  do {
    await send(textOf(`${stamp}x${count}`))
    count += 1
  } while (performance.now() - begin < options.seconds * 1000)
  return (count / (performance.now() - begin)) * 1000
}

async function measureSeen(bench: Bench, clients: number, bar: Figure['bar']): Promise<Figure> {
  await using satchel = await openEmptySatchel(bench)
  const person = await writerOf(satchel)
  const writer = openClient(satchel.url, person, 'writer')
  await writer.sync([])
  let sent = 0
  let delays: number[] = []
  const sockets: WebSocket[] = []
  for (let number = 0; number < clients; number += 1) {
    const client = openClient(satchel.url, person, `listener${number}`)
    sockets.push(await client.listen(() => delays.push(performance.now() - sent)))
  }
  const values: number[] = []
  const medians: number[] = []
  for (let round = 0; round < bench.options.rounds; round += 1) {
    delays = []
    for (let write = 0; write < WRITES; write += 1) {
      await Bun.sleep(PAUSE)
      sent = performance.now()
      await writer.post(textOf(`seen${round}x${write}`))
      await until(() => delays.length >= clients * (write + 1))
    }
    values.push(percentile(delays, 0.99))
    medians.push(percentile(delays, 0.5))
  }
  for (const socket of sockets) socket.close()
  bench.say(`  ${clients} sockets: p50 ${median(medians).toFixed(1)} ms`)
  const title = `Write until seen by ${clients} in one realm, p99`
  return { title, bar, values, value: median(values) }
}

async function until(isDone: () => boolean): Promise<void> {
  const deadline = performance.now() + 5_000
  while (!isDone()) {
    if (performance.now() > deadline) throw new Error('a socket was not told of a write')
    await Bun.sleep(1)
  }
}

/** The time of first syncs against that of lists of the same rows, and the memory that they take. */
async function measureFirstSyncs(bench: Bench, rows: number): Promise<Figure[]> {
  await using satchel = await openEmptySatchel(bench)
  for (let batch = 0; batch < rows / 1_000; batch += 1) {
    const texts = batchTexts(1_000, [realm], String(batch).padStart(12, '0'))
    await satchel.send('POST', '/all/items', `[${texts.join(',')}]`)
  }
  const token = await satchel.issueToken('client')
  const person = await writerOf(satchel)
  await openClient(satchel.url, person, 'warm').pull()
  const ratios: number[] = []
  const growths: number[] = []
  for (let round = 0; round < bench.options.rounds; round += 1) {
    const list = await download(`${satchel.url}/all/items`, token)
    const client = openClient(satchel.url, person, `first${round}`)
    const before = await residentMegabytes(satchel.pid)
    await resetPeak(satchel.pid)
    const begin = performance.now()
    await client.pull()
    const took = performance.now() - begin
    growths.push((await peakMegabytes(satchel.pid)) - before)
    ratios.push(list.whole / took)
    bench.say(
      `  round ${round + 1}: sync ${Math.round(took)} ms, list ${Math.round(list.whole)} ms`,
    )
  }
  const what = `First POST /sync of ${rows.toLocaleString('en')} rows`
  return [
    {
      title: `${what} against GET /all/<t>`,
      bar: ratio(0.35, 0.5),
      values: ratios,
      value: median(ratios),
    },
    {
      title: `${what}: RSS growth`,
      bar: atMost(128, 64, 'MB'),
      values: growths,
      value: Math.max(...growths),
    },
  ]
}

async function writerOf(satchel: Satchel): Promise<Person> {
  return { userId, token: await satchel.issueToken('writer') }
}

/** An object of the writer's with a key of its own. */
function textOf(stamp: string): string {
  const id = `itm${stamp.padStart(24, '0')}`
  return itemText({ id, realmId: realm, owner: userId, country: 'c0001', rank: 1 }, 1)
}
