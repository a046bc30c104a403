import { writeFile } from 'node:fs/promises'
import type { Bench, Workload } from '../bench'
import { atMost, type Figure } from '../result'
import { startServer } from '../server-process'
import { median } from '../statistics'

const OBJECTS = 10_000
const STARTS = 20
const AT_ONCE = 100
const CALLS_PER_ROUND = 10

/** A backend for tests: how soon it is ready, alone and with ninety-nine others, and its operations. */
export const throwAway: Workload = {
  name: 'throw-away',
  async run(bench) {
    if (bench.options.isFloorOnly) return []
    const ready: number[] = []
    for (let number = 0; number < STARTS; number += 1) ready.push(await timeOf(() => start(bench)))
    const together: number[] = []
    for (let round = 0; round < bench.options.rounds; round += 1) {
      together.push((await timeOf(() => startMany(bench))) / 1000)
    }
    return [
      figure('Ready, alone', atMost(40, 25, 'ms'), ready),
      figure(`${AT_ONCE} at once until all are ready`, atMost(4, 3, 's'), together),
      ...(await operations(bench)),
    ]
  },
}

/** The time from spawning the executable to its ready line. */
async function start(bench: Bench): Promise<void> {
  starting.push(await startThrowAway(bench))
}

/** Ended outside of the measured time. */
const starting: AsyncDisposable[] = []

async function startMany(bench: Bench): Promise<void> {
  const all = Array.from({ length: AT_ONCE }, () => startThrowAway(bench))
  starting.push(...(await Promise.all(all)))
}

function startThrowAway(bench: Bench, ...args: readonly string[]) {
  const serve = ['serve', '--memory', '--test', '--port', '0', '--json', '--log-level', 'error']
  return startServer({
    command: [bench.options.satchel, ...serve, ...args],
    log: bench.newPath('throw-away.log'),
    signal: bench.signal,
  })
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const begin = performance.now()
  await work()
  const time = performance.now() - begin
  await Promise.all(starting.splice(0).map((server) => server[Symbol.asyncDispose]()))
  return time
}

/** Each on a database of 10,000 objects. */
async function operations(bench: Bench): Promise<Figure[]> {
  const [schema, seed] = [bench.newPath('schema.json'), bench.newPath('seed.ndjson')]
  await writeFile(schema, '{"todos": "@id, title"}')
  await writeFile(seed, Array.from({ length: OBJECTS }, (_, at) => lineOf(at)).join('\n'))
  await using server = await startThrowAway(bench, '--schema', schema, '--seed', seed)
  const call = async (path: string, body?: object) => {
    const response = await fetch(`${server.ready.url}/main/_test/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.ready.test?.token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const answer = (await response.json()) as { readonly id?: string }
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`)
    return answer
  }
  const { id } = await call('snapshot')
  const ways: readonly (readonly [title: string, work: () => Promise<unknown>])[] = [
    ['Reset', () => call('reset')],
    ['Restore', () => call(`restore/${id}`)],
    ['Login', () => call('login', { email: 'alice@example.com' })],
  ]
  const figures: Figure[] = []
  for (const [title, work] of ways) {
    await work()
    const times: number[] = []
    for (let at = 0; at < bench.options.rounds * CALLS_PER_ROUND; at += 1) {
      times.push(await timeOf(work))
    }
    figures.push(figure(`${title}, 10,000 objects`, atMost(10, 5, 'ms'), times))
  }
  const snapshots: number[] = []
  for (let at = 0; at < bench.options.rounds * CALLS_PER_ROUND; at += 1) {
    let taken = ''
    snapshots.push(await timeOf(async () => (taken = (await call('snapshot')).id ?? '')))
    await fetch(`${server.ready.url}/main/_test/snapshot/${taken}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${server.ready.test?.token}` },
    })
  }
  return [...figures, figure('Snapshot, 10,000 objects', atMost(10, 5, 'ms'), snapshots)]
}

function lineOf(at: number): string {
  const data = { title: `Buy milk ${at}`, done: at % 2 === 0, note: 'x'.repeat(80) }
  return JSON.stringify({ table: 'todos', realm: 'rlm-public', id: `tds${at}`, data })
}

function figure(title: string, bar: Figure['bar'], values: readonly number[]): Figure {
  return { title, bar, values, value: median(values) }
}
