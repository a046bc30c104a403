import { setupExecutable } from '../promises/setup'
import { beside, cpuOf } from './beside'
import type { Finding } from './experiment'

/** The longest that a read of others may wait for the floods, ms, beside what it waits without them. */
const MOST_MS = 50
const SECONDS = 3
const TRIES = 5

/** Anonymous sockets of one network send frames as fast as they can, from a process of their own. */
export async function floodSockets(rounds: number): Promise<Finding> {
  const facts: string[] = []
  const problems: string[] = []
  for (let round = 0; round < rounds; round += 1) {
    for (const count of [1, 20]) {
      for (const kind of ['junk', 'ping', 'empty', 'binary']) {
        const title = `${count} × ${kind}`
        const { calm, read, cpu, refused } = await leastOf(TRIES, () => flood(count, kind))
        facts.push(`${title}: reads ${calm} → ${read} ms, ${cpu} ms of CPU`)
        if (refused > 0) problems.push(`${title}: ${refused} requests were refused`)
        if (read - calm > MOST_MS) problems.push(`${title}: a read of others took ${read} ms`)
      }
    }
  }
  return { facts: facts.join('; '), problems }
}

interface Flood {
  /** The slowest read of others without the flood, and beside it, ms. */
  readonly calm: number
  readonly read: number
  /** The CPU time of the server during the flood, ms. */
  readonly cpu: number
  readonly refused: number
}

async function flood(count: number, kind: string): Promise<Flood> {
  await using executable = await setupExecutable()
  const wait = () => beside(executable, () => Bun.sleep(SECONDS * 1_000), 20)
  // On a busy machine others wait for it too, and for a process that takes a core.
  const calm = await withFlooder(wait, '0', '0', kind)
  const { port } = new URL(executable.url)
  const before = cpuOf(executable)
  const { read, refused } = await withFlooder(wait, port, String(count), kind)
  return { calm: calm.read, read, cpu: cpuOf(executable) - before, refused }
}

/** The try beside which others waited least: what else runs on the machine only adds to it. */
async function leastOf(tries: number, run: () => Promise<Flood>): Promise<Flood> {
  let least = await run()
  for (let n = 1; n < tries && least.read - least.calm > MOST_MS; n += 1) {
    const next = await run()
    if (next.read - next.calm < least.read - least.calm) least = next
  }
  return least
}

async function withFlooder<T>(work: () => Promise<T>, ...args: readonly string[]): Promise<T> {
  const flooder = Bun.spawn(['bun', `${import.meta.dir}/flooder.ts`, ...args], {
    stdout: 'inherit',
    stderr: 'inherit',
  })
  try {
    return await work()
  } finally {
    flooder.kill()
    await flooder.exited
  }
}
