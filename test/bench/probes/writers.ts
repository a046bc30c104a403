import { writeFile } from 'node:fs/promises'

import type { Bench, Workload } from '../bench'
import { countJobs, estateOf, postEstate } from '../estate'
import { openEmptySatchel } from '../fixture'
import { objectText, paceStamp } from '../requests'
import { atMost, type Bar } from '../result'
import { batchTexts, readerRealm, writerRealms } from '../rows'
import { databaseFile, runCommand, type Satchel } from '../satchel'
import { median, percentile } from '../statistics'

/** The delay of other writers while one request stores as many objects as it may. */
export const writersDuringPost = writersDuring({
  name: 'writers-during-post',
  title: "Other writers' p99 during a POST of 50,000 objects",
  bar: atMost(400, 200, 'ms'),
  prepare: (_bench, round) => {
    const texts = batchTexts(50_000, writerRealms, `post${String(round).padStart(8, '0')}`)
    const body = new TextEncoder().encode(`[${texts.join(',')}]`)
    return Promise.resolve((satchel) => satchel.send('POST', '/all/items', body))
  },
})

/** The delay of other writers while a command imports a file. */
export const writersDuringImport = writersDuring({
  name: 'writers-during-import',
  title: "Other writers' p99 during an import of 100,000 objects",
  bar: atMost(25, 12.5, 'ms'),
  prepare: async (bench, round) => {
    const file = bench.newPath('import.ndjson')
    const texts = batchTexts(100_000, [readerRealm], `load${String(round).padStart(8, '0')}`)
    await writeFile(file, `${texts.join('\n')}\n`)
    const args = ['import', file, '--table', 'items', '--realm', readerRealm, '--data']
    const settings = { executable: bench.options.satchel, signal: bench.signal }
    return ({ data }) => runCommand(settings, [...args, data])
  },
})

/** How long others wait at the most while a user is deleted who owns 100,000 objects in 50 realms. */
export const writersDuringDeletion = writersDuring({
  name: 'writers-during-deletion',
  title: 'Longest wait of other writers while the owner of 100,000 objects is deleted',
  bar: atMost(50, 25, 'ms'),
  rank: 1,
  indexes: ['country', 'rank', 'title'],
  prepare: async (_bench, round, satchel) => {
    const estate = estateOf(`r${round}`)
    await postEstate((path, json) => satchel.send('POST', path, json), estate, 100_000)
    return async () => {
      await satchel.send('DELETE', `/users/${estate.owner}`)
      while (countJobs(databaseFile(satchel.data)) > 0) await Bun.sleep(20)
    }
  },
})

interface Disturbance {
  readonly name: string
  readonly title: string
  readonly bar: Bar
  /** Which of the waits is the figure: 0.99 unless told, 1 for the longest. */
  readonly rank?: number
  readonly indexes?: readonly string[]
  /** Does what takes time beforehand. */
  readonly prepare: (
    bench: Bench,
    round: number,
    satchel: Satchel,
  ) => Promise<(satchel: Satchel) => Promise<void>>
}

function writersDuring({
  name,
  title,
  bar,
  rank = 0.99,
  indexes = [],
  prepare,
}: Disturbance): Workload {
  return {
    name,
    async run(bench) {
      if (bench.options.isFloorOnly) return []
      const values: number[] = []
      await using satchel = await openEmptySatchel(bench, indexes)
      const token = await satchel.issueToken('writer')
      for (let round = 0; round < bench.options.rounds; round += 1) {
        const disturb = await prepare(bench, round, satchel)
        using writes = startWriting(`${satchel.url}/my/items`, token, round)
        await Bun.sleep(500)
        const begin = performance.now()
        await disturb(satchel)
        const end = performance.now()
        const latencies = (await writes.stop())
          .filter(({ sent, answered }) => answered > begin && sent < end)
          .map(({ sent, answered }) => answered - sent)
        bench.say(
          `  round ${round + 1}: ${latencies.length} writes in ${Math.round(end - begin)} ms`,
        )
        values.push(percentile(latencies, rank))
      }
      return [{ title, bar, values, value: median(values) }]
    },
  }
}

interface Write {
  readonly sent: number
  readonly answered: number
}

interface Writing extends Disposable {
  /**
   * Ends writing and resolves to every write.
   * @throws Error when one was refused.
   */
  stop(): Promise<Write[]>
}

/**
 * Writes one object every 4 ms whether or not the last was answered, because writers who wait for
 * their answers would be few just when answers are slow.
 */
function startWriting(address: string, token: string, round: number): Writing {
  const writes: Promise<Write | Error>[] = []
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const write = async (number: number): Promise<Write | Error> => {
    const body = objectText(paceStamp(round), number)
    const sent = performance.now()
    try {
      const response = await fetch(address, { method: 'POST', headers, body })
      const answer = await response.text()
      if (!response.ok) return new Error(`POST ${address}: ${response.status} ${answer}`)
    } catch (error) {
      return new Error(`POST ${address} broke`, { cause: error })
    }
    return { sent, answered: performance.now() }
  }
  const timer = setInterval(() => writes.push(write(writes.length)), 4)
  return {
    async stop() {
      clearInterval(timer)
      return (await Promise.all(writes)).map((outcome) => {
        if (outcome instanceof Error) throw outcome
        return outcome
      })
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}
