import { readdirSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Caller } from '../http/setup'
import { type Executable, setupExecutable } from '../promises/setup'
import { slopeOf } from '../bench/statistics'
import type { Finding } from './experiment'
import { createRandom, type Random } from './random'

const MIB = 1024 * 1024
const USERS = 20
const LARGEST_WAL = 64 * MIB
/** MiB per hour. */
const MOST_SLOPE = 1
const SAMPLE_EVERY = 2_000
/** After this time the server has closed idle connections, ms. */
const IDLE_CONNECTION = 40_000
/** The one that listens, those between threads, and one of a request. */
const FEW_SOCKETS = 6
/** MiB that caches may still take after the warm-up: a day of them would be 1 MiB an hour. */
const FEW_MEBIBYTES = 16
/** A shorter run does not judge memory, minutes. */
const SHORTEST = 10
/** The share of the samples that is left out at the beginning, while the heap and the caches fill. */
const WARM_UP = 0.4

interface Sample {
  /** Hours since the beginning. */
  readonly time: number
  /** Of the process, MiB. */
  readonly memory: number
  readonly files: number
  readonly wal: number
}

/**
 * Promise 38: hours of mixed work leave no memory, no descriptor and no log behind. A short run can
 * only find a large leak: the slope counts as too steep when neither chance nor the caches, which
 * fill for minutes, explain it.
 */
export async function soak(minutes: number, seed: number): Promise<Finding> {
  const problems: string[] = []
  await using executable = await setupExecutable()
  const callers = await Promise.all(
    Array.from({ length: USERS }, (_, n) => executable.as(`u${n}@example.com`)),
  )
  let isOver = false
  let requests = 0
  const workers = callers.map(async (caller, n) => {
    const random = createRandom(seed + n)
    while (!isOver) {
      requests += 1
      const status = await work(executable, caller, n, random)
      if (status >= 500 && status !== 503) problems.push(`a request was answered ${status}`)
      await Bun.sleep(random.between(5, 50))
    }
  })
  const samples = await sample(executable, minutes)
  isOver = true
  await Promise.all(workers)
  const steady = samples.slice(Math.floor(samples.length * WARM_UP))
  const { slope, error } = slopeOf(steady.map(({ time, memory }) => ({ x: time, y: memory })))
  const hours = (minutes / 60) * (1 - WARM_UP)
  const isSteep = slope - 3 * error > MOST_SLOPE && slope * hours > FEW_MEBIBYTES
  if (minutes >= SHORTEST && isSteep) problems.push(`memory grows by ${slope.toFixed(1)} MiB/h`)
  const half = Math.floor(steady.length / 2)
  const most = (part: readonly Sample[]) => Math.max(...part.map(({ files }) => files))
  const [earlier, later] = [most(steady.slice(0, half)), most(steady.slice(half))]
  if (later > earlier) problems.push(`${earlier} open files became ${later}`)
  await Bun.sleep(IDLE_CONNECTION)
  const { sockets } = descriptorsOf(executable)
  if (sockets > FEW_SOCKETS) problems.push(`${sockets} sockets are left`)
  const wal = Math.max(...samples.map((each) => each.wal))
  if (wal > LARGEST_WAL) problems.push(`the log had ${Math.round(wal / MIB)} MiB`)
  const facts = [
    `${requests} requests`,
    `${slope.toFixed(1)} ± ${error.toFixed(1)} MiB/h at ${Math.round(steady.at(-1)?.memory ?? 0)} MiB`,
    `${earlier} to ${later} open files, ${sockets} sockets left`,
    `log at most ${Math.round(wal / MIB)} MiB`,
  ]
  return { facts: facts.join(', '), problems: [...new Set(problems)] }
}

/** One piece of the daily work of an application. */
async function work(executable: Executable, caller: Caller, n: number, random: Random) {
  const key = `${n}-${random.between(1, 200)}`
  const object = {
    id: key,
    country: `C${random.between(1, 50)}`,
    pad: 'x'.repeat(random.between(1, 2_000)),
  }
  switch (
    random.pick([
      'put',
      'put',
      'batch',
      'get',
      'get',
      'list',
      'filter',
      'leave',
      'remove',
      'blob',
      'token',
      'wrong',
    ])
  ) {
    case 'put':
      return (await caller.post('/my/items', object)).status
    case 'batch': {
      const objects = Array.from({ length: 20 }, (_, each) => ({ ...object, id: `${key}-${each}` }))
      return (await caller.post('/my/items', objects)).status
    }
    case 'get':
      return (await caller.get(`/my/items/${key}`)).status
    case 'list':
      return (await caller.get('/my/items?$limit=100')).status
    case 'filter':
      return (await caller.get(`/my/items?country=${object.country}`)).status
    case 'leave':
      return await leave(executable, caller)
    case 'remove':
      return (await caller.remove(`/my/items/${key}`)).status
    case 'blob': {
      const body = object.pad
      const sent = await caller.send('PUT', `/blob/${key}-${body.length}`, { body })
      return sent.status
    }
    case 'token':
      await executable.as(`u${n}@example.com`)
      return 200
    default:
      return (await caller.post('/my/items', { id: 1 })).status
  }
}

/** Reads the beginning of a list and goes away. */
async function leave({ main }: Executable, { token }: Caller): Promise<number> {
  const leaving = new AbortController()
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${main}/my/items`, { headers, signal: leaving.signal })
  leaving.abort()
  return answer.status
}

async function sample(executable: Executable, minutes: number): Promise<Sample[]> {
  const samples: Sample[] = []
  const begun = performance.now()
  const wal = join(executable.folder, 'databases', 'main', 'database.sqlite-wal')
  while (performance.now() - begun < minutes * 60_000) {
    await Bun.sleep(SAMPLE_EVERY)
    samples.push({
      time: (performance.now() - begun) / 3_600_000,
      memory: executable.memory().now,
      files: descriptorsOf(executable).files,
      wal: statSync(wal, { throwIfNoEntry: false })?.size ?? 0,
    })
  }
  return samples
}

function descriptorsOf({ served }: Executable) {
  const folder = `/proc/${served.pid}/fd`
  const targets = readdirSync(folder).map((name) => {
    try {
      return readlinkSync(`${folder}/${name}`)
    } catch {
      // Closed since the folder was read.
      return 'socket:'
    }
  })
  const sockets = targets.filter((target) => target.startsWith('socket:')).length
  return { sockets, files: targets.length - sockets }
}
