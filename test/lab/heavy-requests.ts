import { readFileSync } from 'node:fs'
import { setupExecutable, type Executable } from '../promises/setup'
import type { Finding } from './experiment'

/** The longest that others may wait beside a heavy request, ms (two cores). */
const MOST_WRITE = 1_000
const MOST_READ = 300
/** How often others write and read, ms. */
const PROBE_EVERY = 50
/** How long a scan may go on after its reader has closed, ms. */
const MOST_SCAN = 1_000
const ROWS = 200_000

interface Attack {
  readonly title: string
  readonly status: number
  readonly send: () => Promise<number>
}

/** The heaviest requests that are allowed, and heavier ones, while others write and read. */
export async function sendHeavyRequests(rounds: number): Promise<Finding> {
  const problems: string[] = []
  const facts: string[] = []
  await using executable = await setupExecutable()
  const root = await executable.root()
  const mallory = await executable.as('mallory@example.com')
  // Made in advance, because the probes run in this process too.
  const post = (path: string, objects: unknown) => {
    const body = JSON.stringify(objects)
    const headers = { prefer: 'return=minimal' }
    return async () => (await mallory.send('POST', path, { body, headers })).status
  }
  const tagged = (from: number) =>
    Array.from({ length: 500 }, (_, n) => ({
      id: `tags${n}`,
      tags: Array.from({ length: 900 }, (_unused, tag) => `${from + tag}`),
    }))
  const many = (length: number) => Array.from({ length }, () => ({}))
  const attacks: Attack[] = [
    { title: '50,000 objects', status: 204, send: post('/my/items', many(50_000)) },
    { title: '999,999 objects', status: 422, send: post('/my/items', many(999_999)) },
    { title: '20,000 realms', status: 422, send: post('/my/realms', many(20_000)) },
    {
      title: '900,000 tags',
      status: 422,
      send: post('/my/items', { tags: Array.from({ length: 900_000 }, (_, n) => n) }),
    },
    { title: '500 × 900 tags', status: 204, send: post('/my/items', tagged(0)) },
    { title: 'their replacement', status: 204, send: post('/my/items', tagged(900)) },
  ]
  for (let round = 1; round <= rounds; round += 1) {
    for (const { title, status, send } of attacks) {
      const { result, write, read, refused } = await beside(executable, send)
      facts.push(`${title}: writes ${write} ms, reads ${read} ms`)
      if (result !== status) problems.push(`${title} was answered ${result}`)
      if (refused > 0) problems.push(`${title}: ${refused} requests of others were refused`)
      if (write > MOST_WRITE) problems.push(`${title}: a write of others took ${write} ms`)
      if (read > MOST_READ) problems.push(`${title}: a read of others took ${read} ms`)
    }
  }
  const cities = Array.from({ length: ROWS / 10 }, (_, n) => ({
    country: n % 4 === 0 ? 'US' : `C${n}`,
    realmId: 'rlm-public',
  }))
  for (let part = 0; part < 10; part += 1) {
    await root.post('/all/items', cities, { prefer: 'return=minimal' })
  }
  const pages = await beside(executable, async () => {
    const before = executable.memory().now
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => root.get('/all/items?country=US&$limit=1')),
    )
    facts.push(`100 pages of many matches: ${Math.round(executable.memory().now - before)} MiB`)
    return answers.filter(({ status, text }) => status === 200 && text.startsWith('[{')).length
  })
  facts.push(`100 pages: reads ${pages.read} ms`)
  if (pages.result !== 100) problems.push(`${pages.result} of 100 pages were answered`)
  if (pages.read > MOST_READ) problems.push(`100 pages: a read of others took ${pages.read} ms`)
  const scans = await Promise.all(
    Array.from({ length: 24 }, () => root.get('/all/items?name=nope')),
  )
  const whole = scans.filter(({ status, body }) => status === 200 && Array.isArray(body)).length
  facts.push(`${whole} of 24 scans whole`)
  if (whole < 24) problems.push(`${24 - whole} of 24 scans were not answered whole`)
  const closing = new AbortController()
  const closed = Array.from({ length: 100 }, () =>
    fetch(`${executable.main}/all/items?name=nope`, {
      headers: { authorization: `Bearer ${root.token}` },
      signal: closing.signal,
    }).catch(() => undefined),
  )
  await Bun.sleep(200)
  closing.abort()
  await Promise.all(closed)
  await Bun.sleep(MOST_SCAN)
  const busy = cpuOf(executable)
  await Bun.sleep(1_000)
  const spent = cpuOf(executable) - busy
  facts.push(`${spent} ms of CPU in the second after 100 closed scans`)
  if (spent > 200) problems.push(`closed scans went on: ${spent} ms of CPU in a second`)
  return { facts: facts.join('; '), problems }
}

/** The slowest write and read of others while `attack` runs, in ms. */
async function beside(executable: Executable, attack: () => Promise<number>) {
  const other = await executable.as('other@example.com')
  let isOver = false
  let refused = 0
  const slowest = { write: 0, read: 0 }
  const probe = async (kind: 'write' | 'read', send: () => Promise<{ status: number }>) => {
    while (!isOver) {
      const begun = performance.now()
      const { status } = await send()
      slowest[kind] = Math.max(slowest[kind], Math.round(performance.now() - begun))
      if (status !== 200) refused += 1
      await Bun.sleep(PROBE_EVERY)
    }
  }
  await other.post('/my/plain', { id: 'probe' })
  let count = 0
  const probes = [
    probe('write', () => other.post('/my/plain', { id: 'probe', count: (count += 1) })),
    probe('read', () => other.get('/my/plain/probe')),
  ]
  const result = await attack()
  isOver = true
  await Promise.all(probes)
  return { result, refused, ...slowest }
}

/** The CPU time of the process so far, ms. */
function cpuOf({ served }: Executable): number {
  const fields = readFileSync(`/proc/${served.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}
