import { statfs } from 'node:fs/promises'
import { dirname } from 'node:path'

import type { Bench, Workload } from '../bench'
import { atMost, type Bar, type Figure, type LaneSummary, ratio } from '../result'
import { peakMegabytes, residentMegabytes, resetPeak } from '../server-process'
import { median } from '../statistics'
import type { LoadSample } from '../wrk'
import { type Contender, headersOf, openFloor, openSatchelWithBlob, warmUp } from './contenders'
import { transfer, type Transfers } from './transfers'

const KIB = 2 ** 10
const MIB = 2 ** 20
const GIB = 2 ** 30

const SIZES = { '4k': 4 * KIB, '1m': MIB, '100m': 100 * MIB, '1g': GIB } as const
const TITLES = { '4k': '4 KiB', '1m': '1 MiB', '100m': '100 MiB', '1g': '1 GiB' } as const

/** Blobs in and out, from small to large, over one connection and over sixteen (design.md §7). */
export const blobWorkloads: readonly Workload[] = (['in', 'out'] as const).flatMap((direction) => [
  ...(['4k', '1m', '100m', '1g'] as const).flatMap((size) =>
    [1, 16].map((connections) =>
      blobRace(`blob-${direction}-${size}-${connections}`, `${TITLES[size]} ${direction}`, {
        direction,
        size: SIZES[size],
        connections,
      }),
    ),
  ),
  blobMemory(direction),
])

/** Small blobs are reported, not judged: their time is spent on everything but the bytes. */
function barOf({ size }: Transfers): Bar {
  return size < MIB ? { limit: 'at least', bar: 0, unit: '×' } : ratio(0.7, 0.9)
}

function blobRace(name: string, what: string, transfers: Transfers): Workload {
  const title = `blobs of ${what}, ${transfers.connections} connection${transfers.connections === 1 ? '' : 's'}`
  return {
    name,
    async run(bench) {
      const bar = barOf(transfers)
      const obstacle = await obstacleTo(bench, transfers)
      if (obstacle !== undefined)
        return [{ title, bar, values: [], value: Number.NaN, skipped: obstacle }]
      const headers = bench.options.isFloorOnly ? {} : await headersOf(bench, transfers)
      const floor = laneOf(`floor blob-${transfers.direction}`, transfers, () =>
        openFloor(bench, transfers, headers),
      )
      const satchel = laneOf('satchel', transfers, () => openSatchelWithBlob(bench, transfers))
      const lanes = bench.options.isFloorOnly ? [floor] : [floor, satchel]
      await runRounds(bench, transfers, lanes)
      return [compare(title, bar, lanes)]
    },
    isLong: transfers.size * transfers.connections > 256 * MIB,
    async duel(before, after) {
      const duel = { title, unit: '/s', isLowerBetter: false }
      const skipped = await obstacleTo(after, transfers)
      if (skipped !== undefined) return [{ ...duel, before: [], after: [], skipped }]
      const lanes = [
        laneOf('before', transfers, () => openSatchelWithBlob(before, transfers)),
        laneOf('after', transfers, () => openSatchelWithBlob(after, transfers)),
      ]
      await runRounds(after, transfers, lanes)
      const [former = [], latter = []] = lanes.map(({ samples }) =>
        samples.map(({ perSecond }) => perSecond),
      )
      return [{ ...duel, before: former, after: latter }]
    },
  }
}

function laneOf(name: string, transfers: Transfers, openLane: () => Promise<Contender>): Lane {
  return {
    name,
    samples: [],
    async open() {
      const contender = await openLane()
      await warmUp(contender, transfers)
      return contender
    },
  }
}

/** Measures every lane once a round, in turn from the one end and from the other. */
async function runRounds(
  bench: Bench,
  transfers: Transfers,
  lanes: readonly Lane[],
): Promise<void> {
  await using held = new AsyncDisposableStack()
  const open = mayStay(transfers) ? keepOpen(held) : (lane: Lane) => lane.open()
  for (let round = 0; round < bench.options.rounds; round += 1) {
    for (const lane of round % 2 === 0 ? lanes : lanes.toReversed()) {
      await using contender = await open(lane)
      lane.samples.push(await measure(bench, contender, transfers))
    }
    bench.say(`  round ${round + 1}: ${lanes.map((lane) => describe(lane, transfers)).join(', ')}`)
  }
}

interface Lane {
  readonly name: string
  readonly samples: Sample[]
  open(): Promise<Contender>
}

type Sample = LoadSample & { readonly megabytes: number }

/** Uploads fill the disk: for large ones every round begins with an empty one. */
function mayStay({ direction, size }: Transfers): boolean {
  return direction === 'out' || size <= MIB
}

/** Opens every lane once, for `held` to close. */
function keepOpen(held: AsyncDisposableStack): (lane: Lane) => Promise<Contender> {
  const opened = new Map<Lane, Contender>()
  return async (lane) => {
    const contender = opened.get(lane) ?? held.use(await lane.open())
    opened.set(lane, contender)
    return { ...contender, [Symbol.asyncDispose]: () => Promise.resolve() }
  }
}

async function measure(bench: Bench, contender: Contender, transfers: Transfers): Promise<Sample> {
  const { server, token } = contender
  const sample = await transfer(transfers, server.ready.url, token, bench.options.seconds)
  return { ...sample, megabytes: await peakMegabytes(server.pid) }
}

function compare(title: string, bar: Bar, [floor, satchel]: readonly Lane[]): Figure {
  const values = (satchel?.samples ?? []).map(
    ({ perSecond }, round) => perSecond / (floor?.samples[round]?.perSecond ?? Number.NaN),
  )
  return {
    title,
    bar,
    values,
    value: median(values),
    ...(floor === undefined ? {} : { floor: summarize(floor) }),
    ...(satchel === undefined ? {} : { satchel: summarize(satchel) }),
  }
}

function summarize({ name, samples }: Lane): LaneSummary {
  return {
    name,
    objectsPerSecond: median(samples.map(({ perSecond }) => perSecond)),
    p50: median(samples.map(({ p50 }) => p50)),
    p99: median(samples.map(({ p99 }) => p99)),
    megabytes: Math.max(...samples.map(({ megabytes }) => megabytes)),
  }
}

function describe({ name, samples }: Lane, { size }: Transfers): string {
  const rate = samples.at(-1)?.perSecond ?? Number.NaN
  return size < MIB
    ? `${name} ${Math.round(rate).toLocaleString('en')}/s`
    : `${name} ${Math.round((rate * size) / MIB).toLocaleString('en')} MiB/s`
}

/** Disk space that two contenders need until their round is over. */
async function obstacleTo(
  bench: Bench,
  { direction, size, connections }: Transfers,
): Promise<string | undefined> {
  const needed = direction === 'in' ? size * connections * 2 : size * 3
  const { bavail, bsize } = await statfs(dirname(bench.newPath('free')))
  return bavail * bsize > needed * 1.5
    ? undefined
    : `needs ${Math.ceil((needed * 1.5) / GIB)} GiB of free disk`
}

/** The memory that one blob of 1 GiB costs a warm server. */
function blobMemory(direction: 'in' | 'out'): Workload {
  return {
    name: `blob-${direction}-memory`,
    async run(bench) {
      if (bench.options.isFloorOnly) return []
      const transfers: Transfers = { direction, size: GIB, connections: 1 }
      const values: number[] = []
      for (let round = 0; round < Math.min(3, bench.options.rounds); round += 1) {
        await using contender = await openSatchelWithBlob(bench, transfers)
        const { server, token } = contender
        await transfer({ direction: 'in', size: MIB, connections: 4 }, server.ready.url, token, 0.5)
        const before = await residentMegabytes(server.pid)
        await resetPeak(server.pid)
        await transfer(transfers, server.ready.url, token, 0)
        values.push((await peakMegabytes(server.pid)) - before)
      }
      return [
        {
          title: `a blob of 1 GiB ${direction}: RSS growth`,
          bar: atMost(64, 32, 'MB'),
          values,
          value: Math.max(...values),
        },
      ]
    },
  }
}
