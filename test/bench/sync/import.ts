import { writeFile } from 'node:fs/promises'
import { realmSetHash } from '../../../src/domain/sync/realm-set'
import type { Bench } from '../bench'
import { download } from '../download'
import { openEmptySatchel } from '../fixture'
import { atMost, type Figure } from '../result'
import { batchTexts, members, writerRealms } from '../rows'
import { runCommand, type Satchel } from '../satchel'
import { peakMegabytes, residentMegabytes, resetPeak } from '../server-process'
import { percentile } from '../statistics'
import { type Answer, listen, openClient, type Person } from './client'

const ROWS = 10_000
const SOCKETS = 1_000
const realm = writerRealms[0] ?? ''

/**
 * The memory of the server and the time of others' reads while an import reaches 1,000 open clients, each
 * of which pulls all of its rows.
 */
export async function measureImport(bench: Bench): Promise<Figure[]> {
  await using satchel = await openEmptySatchel(bench)
  const token = await satchel.issueToken('writer')
  const person = { userId: members.writer.userId, token }
  const answer = await openClient(satchel.url, person, 'device').sync([])
  const stop = new AbortController()
  const numbers = Array.from({ length: SOCKETS }, (_, at) => at)
  const clients = await Promise.all(
    numbers.map((at) => follow(satchel, person, `device${at}`, answer, stop.signal)),
  )
  const file = bench.newPath('import.json')
  await writeFile(file, importFile())
  const before = await residentMegabytes(satchel.pid)
  await resetPeak(satchel.pid)
  const executable = bench.options.satchel
  const command = ['import', file, '--data', satchel.data]
  let isOver = false
  const importing = runCommand({ executable, signal: bench.signal }, command).finally(
    () => (isOver = true),
  )
  const times: number[] = []
  const isReached = () => isOver && clients.every(({ isPulling, pulls }) => pulls > 0 && !isPulling)
  while (!isReached()) {
    const path = `${satchel.url}/my/realms/${realm}`
    times.push((await download(path, token)).whole)
    await Bun.sleep(20)
  }
  await importing
  const growth = (await peakMegabytes(satchel.pid)) - before
  const pulls = clients.reduce((sum, { pulls: own }) => sum + own, 0)
  bench.say(`  ${pulls} pulls, ${times.length} reads meanwhile`)
  stop.abort()
  for (const { socket } of clients) socket.close()
  const title = `Import of ${ROWS.toLocaleString('en')} rows with 1,000 sockets open`
  const slowest = percentile(times, 0.99)
  return [
    { title: `${title}: RSS growth`, bar: atMost(128, 96, 'MB'), values: [growth], value: growth },
    { title: `${title}: reads, p99`, bar: atMost(500, 200, 'ms'), values: times, value: slowest },
  ]
}

/** A client that pulls when it is told to. */
async function follow(
  { url }: Satchel,
  { token }: Person,
  identity: string,
  first: Answer,
  signal: AbortSignal,
) {
  let last = first
  const state = { pulls: 0, isPulling: false }
  const socket = await listen(url, token, identity, last, heard)
  return Object.assign(state, { socket })

  function heard(type: string): void {
    if (type === 'changes' || state.isPulling) return
    state.isPulling = true
    void pull().catch(() => undefined)
  }

  async function pull(): Promise<void> {
    const { dbId: dbID, ...lastPull } = last
    const schema = { items: { markedForSync: true, initiallySynced: true } }
    const fields = { v: 3, dbID, clientIdentity: identity, schema, lastPull }
    const response = await fetch(`${url}/sync`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...fields, baseRevs: [], changes: [] }),
      signal,
    })
    const text = await response.text()
    // Only the end: to parse all of them would take longer than to make them.
    const end = text.slice(text.lastIndexOf('"serverRevision":'))
    const { serverRevision } = JSON.parse(`{${end}`) as Answer
    last = { ...last, serverRevision }
    state.pulls += 1
    state.isPulling = false
    const hash = realmSetHash(last.realms, last.inviteRealms)
    socket.send(JSON.stringify({ type: 'ready', rev: serverRevision, realmSetHash: hash }))
  }
}

function importFile(): string {
  const parts: string[] = []
  for (let batch = 0; batch < ROWS / 1_000; batch += 1) {
    for (const text of batchTexts(1_000, [realm], String(batch).padStart(12, '0'))) {
      const { id } = JSON.parse(text) as { readonly id: string }
      parts.push(`${JSON.stringify(id)}:${text}`)
    }
  }
  return `{"data":{"${realm}":{"items":{${parts.join(',')}}}}}`
}
