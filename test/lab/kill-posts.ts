import type { Caller } from '../http/setup'
import { startExecutable } from '../promises/setup'
import { temporaryFolder } from '../setup'
import { integrityOf } from './integrity'
import { kill } from './kill-writers'
import { createRandom } from './random'

export interface AtomicReport {
  readonly rounds: number
  /** How often a killed POST had stored nothing, or everything. */
  readonly nothing: number
  readonly everything: number
  readonly problems: readonly string[]
}

const OBJECTS = 1_000

/**
 * Promise 6: kills the executable in the middle of POSTs of 1,000 objects and starts it again: of
 * each POST all or nothing is visible, in the table and in its index, and all where it was answered.
 */
export async function killPosts(rounds: number, seed: number): Promise<AtomicReport> {
  using folder = temporaryFolder()
  const random = createRandom(seed)
  const problems: string[] = []
  let nothing = 0
  let everything = 0
  let duration: number | undefined
  let executable = await startExecutable(folder.path)
  try {
    for (let round = 1; round <= rounds; round += 1) {
      const root = await executable.root()
      const begun = performance.now()
      const posts = [0, 1].map((part) => postMany(root, `r${round}-${part}`))
      // The first round lives, to tell how long it takes; the second dies at once, others in between.
      if (duration === undefined) await Promise.all(posts.map(({ answered }) => answered))
      else if (round > 2) await Bun.sleep(duration * (0.3 + random.next() * 0.9))
      duration ??= performance.now() - begun
      await kill(executable)
      const statuses = await Promise.all(posts.map(({ answered }) => answered))
      executable = await startExecutable(folder.path, { client: executable.client })
      const { anyone } = executable
      for (const [part, { mark }] of posts.entries()) {
        const found = await Promise.all([
          countOf(anyone.get(`/public/items?country=${mark}`)),
          countOf(anyone.get(`/public/items?tags=${mark}`)),
        ])
        const [count] = found
        if (count === 0) nothing += 1
        if (count === OBJECTS) everything += 1
        const isWhole = found.every((each) => each === count) && (count === 0 || count === OBJECTS)
        if (!isWhole) problems.push(`round ${round}: ${found.join(' and ')} of ${OBJECTS} objects`)
        if (statuses[part] === 204 && count !== OBJECTS) {
          problems.push(`round ${round}: answered, but ${count} of ${OBJECTS} objects`)
        }
      }
      const integrity = integrityOf(folder.path)
      if (integrity !== 'ok') problems.push(`round ${round}: ${integrity}`)
    }
  } finally {
    await executable[Symbol.asyncDispose]()
  }
  return { rounds, nothing, everything, problems }
}

function postMany(root: Caller, mark: string) {
  const objects = Array.from({ length: OBJECTS }, (_, n) => ({
    id: `${mark}-${n}`,
    country: mark,
    tags: [mark, 'all'],
  }))
  const answered = root.post('/public/items', objects, { prefer: 'return=minimal' }).then(
    ({ status }) => status,
    // Killed before it answered.
    () => 0,
  )
  return { mark, answered }
}

async function countOf(answer: Promise<{ readonly body: unknown }>): Promise<number> {
  const { body } = await answer
  return Array.isArray(body) ? body.length : Number.NaN
}
