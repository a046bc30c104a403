import { realmSetHash } from '../../src/domain/sync/realm-set'
import type { Bench, Workload } from './bench'
import { download } from './download'
import { openEmptySatchel } from './fixture'
import { atMost, type Figure, ratio } from './result'
import { batchTexts, itemText, members, writerRealms } from './rows'
import type { Satchel } from './satchel'
import { median, percentile } from './statistics'

/** Live sync (protocol.md §4, §5): pushes against posts, writes until others see them, first syncs. */
export const liveSync: Workload = {
  name: 'sync',
  async run(bench) {
    if (bench.options.isFloorOnly) return []
    return [
      await measurePushes(bench),
      await measureSeen(bench, 1, atMost(60, 30, 'ms')),
      await measureSeen(bench, 100, atMost(60, 30, 'ms')),
      await measureFirstSyncs(bench),
    ]
  },
}

const realm = writerRealms[0] ?? ''
const { userId } = members.writer
/** Writes of one round whose way to the sockets is timed, and the pause after each, ms. */
const WRITES = 20
const PAUSE = 50
const FIRST_ROWS = 10_000

interface Answer {
  readonly dbId: string
  readonly serverRevision: string
  readonly realms: readonly string[]
  readonly inviteRealms: readonly string[]
}

/** A client of the writer, who is in 50 realms, that declares ten tables. */
async function openClient(satchel: Satchel, identity: string) {
  const token = await satchel.issueToken('writer')
  const authorization = `Bearer ${token}`
  const marked = { markedForSync: true, initiallySynced: true }
  const tables = ['items', 'realms', 'members', 'roles', 'a', 'b', 'c', 'd', 'e', 'f']
  const schema = Object.fromEntries(tables.map((table) => [table, marked]))
  let last: Answer | undefined
  let rev = 0

  async function request(changes: readonly object[]): Promise<Response> {
    const { dbId: dbID, ...lastPull } = last ?? {}
    const serverRev = last?.serverRevision
    const baseRevs = tables.map((tableName) => ({ tableName, clientRev: rev, serverRev }))
    const fields = { v: 3, dbID, clientIdentity: identity, schema, baseRevs, changes, y: [] }
    const body = JSON.stringify(last === undefined ? fields : { ...fields, lastPull })
    const headers = { authorization, 'content-type': 'application/tson' }
    const response = await fetch(`${satchel.url}/sync`, { method: 'POST', headers, body })
    if (!response.ok) throw new Error(`POST /sync: ${response.status} ${await response.text()}`)
    return response
  }

  async function sync(changes: readonly object[]): Promise<Answer> {
    const answer = (await (await request(changes)).json()) as Answer
    const { dbId, serverRevision, realms, inviteRealms } = answer
    last = { dbId, serverRevision, realms, inviteRealms }
    return answer
  }

  return {
    token,
    sync,
    /** A first sync whose answer is dropped, as that of a list. */
    async pull(): Promise<void> {
      await (await request([])).arrayBuffer()
    },
    async push(text: string): Promise<void> {
      rev += 1
      const value = JSON.parse(text) as { readonly id: string }
      const facts = { txid: `${identity}-${rev}`, ts: Date.now(), opNo: 1, rev, userId }
      const mut = { type: 'insert', keys: [value.id], values: [value], ...facts }
      await sync([{ table: 'items', muts: [mut] }])
    },
    async post(text: string): Promise<void> {
      const headers = { authorization, 'content-type': 'application/json' }
      const response = await fetch(`${satchel.url}/my/items`, {
        method: 'POST',
        headers,
        body: text,
      })
      if (!response.ok) throw new Error(`POST /my/items: ${response.status}`)
      await response.arrayBuffer()
    },
    /** Opens a socket that answers each message; `heard` is told of each `changes`. */
    async listen(heard: () => void): Promise<WebSocket> {
      const { serverRevision: first, realms, inviteRealms } = last ?? (await sync([]))
      const hash = realmSetHash(realms, inviteRealms)
      const query = new URLSearchParams({ v: '3', rev: first, clientId: identity, token })
      const socket = new WebSocket(`${satchel.url.replace('http', 'ws')}/changes?${String(query)}`)
      const ready = (rev: string) =>
        socket.send(JSON.stringify({ type: 'ready', rev, realmSetHash: hash }))
      socket.addEventListener('message', ({ data }) => {
        const message = JSON.parse(String(data)) as { type: string; newRev?: string }
        if (message.type !== 'changes') return
        heard()
        ready(message.newRev ?? '')
      })
      await new Promise((resolve, reject) => {
        socket.addEventListener('open', resolve)
        socket.addEventListener('error', reject)
      })
      ready(first)
      return socket
    },
  }
}

async function measurePushes(bench: Bench): Promise<Figure> {
  await using satchel = await openEmptySatchel(bench)
  const client = await openClient(satchel, 'pusher')
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
  const writer = await openClient(satchel, 'writer')
  await writer.sync([])
  let sent = 0
  let delays: number[] = []
  const sockets: WebSocket[] = []
  for (let number = 0; number < clients; number += 1) {
    const client = await openClient(satchel, `listener${number}`)
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

async function measureFirstSyncs(bench: Bench): Promise<Figure> {
  await using satchel = await openEmptySatchel(bench)
  for (let batch = 0; batch < FIRST_ROWS / 1_000; batch += 1) {
    const texts = batchTexts(1_000, [realm], String(batch).padStart(12, '0'))
    await satchel.send('POST', '/all/items', `[${texts.join(',')}]`)
  }
  const token = await satchel.issueToken('client')
  await (await openClient(satchel, 'warm')).pull()
  const values: number[] = []
  for (let round = 0; round < bench.options.rounds; round += 1) {
    const list = await download(`${satchel.url}/all/items`, token)
    const client = await openClient(satchel, `first${round}`)
    const begin = performance.now()
    await client.pull()
    const took = performance.now() - begin
    values.push(list.whole / took)
    bench.say(
      `  round ${round + 1}: sync ${Math.round(took)} ms, list ${Math.round(list.whole)} ms`,
    )
  }
  const title = 'First POST /sync of 10,000 rows against GET /all/<t>'
  return { title, bar: ratio(0.35, 0.5), values, value: median(values) }
}

/** An object of the writer's with a key of its own. */
function textOf(stamp: string): string {
  const id = `itm${stamp.padStart(24, '0')}`
  return itemText({ id, realmId: realm, owner: userId, country: 'c0001', rank: 1 }, 1)
}
