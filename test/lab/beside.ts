import { readFileSync } from 'node:fs'
import type { Executable } from '../promises/setup'

/** The slowest write and read of others, ms. */
export interface Waits {
  readonly write: number
  readonly read: number
}

/** The longest that others may wait beside a heavy request, ms, on two cores. */
export const MOST_WRITE = 1_000
export const MOST_READ = 300
const MOST: Waits = { write: MOST_WRITE, read: MOST_READ }
/** How often others write and read, ms. */
const PROBE_EVERY = 50

/** How others fared while something else ran. */
export interface Beside<T> extends Waits {
  readonly result: T
  /** Requests of others that were not answered 200. */
  readonly refused: number
}

/** Lets another user write and read while `work` runs, and until its last request is answered. */
export async function beside<T>(
  executable: Executable,
  work: () => Promise<T>,
  every = PROBE_EVERY,
): Promise<Beside<T>> {
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
      await Bun.sleep(every)
    }
  }
  await other.post('/my/plain', { id: 'probe' })
  let count = 0
  const probes = [
    probe('write', () => other.post('/my/plain', { id: 'probe', count: (count += 1) })),
    probe('read', () => other.get('/my/plain/probe')),
  ]
  try {
    const result = await work()
    isOver = true
    await Promise.all(probes)
    return { result, refused, ...slowest }
  } finally {
    isOver = true
  }
}

/** The ways in which others fared worse than they may. */
export function harmOf(
  title: string,
  { write, read, refused }: Beside<unknown>,
  most = MOST,
): string[] {
  return [
    ...(refused > 0 ? [`${title}: ${refused} requests of others were refused`] : []),
    ...(write > most.write ? [`${title}: a write of others took ${write} ms`] : []),
    ...(read > most.read ? [`${title}: a read of others took ${read} ms`] : []),
  ]
}

/** The CPU time of the process so far, ms. */
export function cpuOf({ served }: Executable): number {
  const fields = readFileSync(`/proc/${served.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}
