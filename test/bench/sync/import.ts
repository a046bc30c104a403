import { writeFile } from 'node:fs/promises'
import type { Bench } from '../bench'
import { download } from '../download'
import { openEmptySatchel } from '../fixture'
import { atMost, type Figure } from '../result'
import { batchTexts, members, writerRealms } from '../rows'
import { runCommand } from '../satchel'
import { peakMegabytes, residentMegabytes, resetPeak } from '../server-process'
import { percentile } from '../statistics'
import { openClient } from './client'
import { follow } from './follower'

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
  const { url } = satchel
  const failed = () => undefined
  const clients = await Promise.all(
    Array.from({ length: SOCKETS }, (_, at) =>
      follow({ url, token, identity: `device${at}`, first: answer, signal: stop.signal, failed }),
    ),
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
