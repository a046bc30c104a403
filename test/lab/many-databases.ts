import { readFileSync } from 'node:fs'
import { setupExecutable, type Executable } from '../promises/setup'
import type { Finding } from './experiment'

const DATABASES = 100
const BUSY = 20
/** MiB */
const MOST_MEMORY = 300
const MOST_THREADS = 20
/** Objects of 1 KB in each busy database: more than its page caches may keep. */
const OBJECTS = 16_000
const PART = 1_000
/** How long a round lasts, ms. */
const ROUND = 10_000

/** Many databases in one process (design.md §2): memory and threads while some are busy and all are open. */
export async function serveManyDatabases(rounds: number): Promise<Finding> {
  const problems: string[] = []
  await using executable = await setupExecutable()
  const names = Array.from({ length: DATABASES }, (_, n) => `d${n}`)
  for (const name of names) await executable.commands.run('db.create', { name })
  const busy = []
  for (const name of names.slice(0, BUSY)) busy.push(await fill(executable, name))
  let requests = 0
  for (let round = 1; round <= rounds; round += 1) {
    const end = performance.now() + ROUND
    const work = async (base: Base) => {
      while (performance.now() < end) {
        requests += 1
        const status = await base.useOnce(requests)
        if (status !== 200) problems.push(`a request was answered ${status}`)
      }
    }
    await Promise.all(busy.map(work))
    // Every database is used now and then.
    for (const name of names) await fetch(`${executable.url}/${name}/public/realms`)
  }
  const memory = Math.round(executable.memory().peak)
  const threads = threadsOf(executable.served.pid)
  if (memory > MOST_MEMORY) problems.push(`it held ${memory} MiB`)
  if (threads > MOST_THREADS) problems.push(`it had ${threads} threads`)
  const rate = Math.round(requests / ((rounds * ROUND) / 1_000))
  return { facts: `${memory} MiB, ${threads} threads, ${rate} requests/s`, problems }
}

interface Base {
  /** Reads a page, reads or writes; resolves to the status. */
  useOnce(n: number): Promise<number>
}

async function fill({ url, commands }: Executable, name: string): Promise<Base> {
  const upload = new Blob(['{"items":"id"}']).stream()
  await commands.run('schema.push', { database: name, wait: true }, { upload })
  const { accessToken } = await commands.run('token.issue', {
    database: name,
    subject: 'busy@example.com',
    scopes: ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE'],
    expiresIn: null,
  })
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${url}/${name}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${accessToken}`,
        'content-type': 'application/json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    await response.arrayBuffer()
    return response.status
  }
  const text = 'x'.repeat(900)
  for (let from = 0; from < OBJECTS; from += PART) {
    const objects = Array.from({ length: PART }, (_, n) => ({ id: `o${from + n}`, text }))
    await send('POST', '/my/items', objects)
  }
  return {
    useOnce(n) {
      if (n % 10 === 0) return send('GET', '/my/items?$limit=1000')
      const id = `o${(n * 7919) % OBJECTS}`
      return n % 5 === 0
        ? send('POST', '/my/items', { id, text, n })
        : send('GET', `/my/items/${id}`)
    },
  }
}

function threadsOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^Threads:\s+(\d+)$/m.exec(status)?.[1])
}
