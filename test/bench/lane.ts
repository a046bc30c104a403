import type { Bench } from './bench'
import type { FloorAnswer } from './fixture'
import type { FloorName } from './floors/serve'
import type { Race } from './race'
import { rehearse, requireSameAnswer, type Answer } from './rehearsal'
import type { LaneSummary } from './result'
import type { Client } from './satchel'
import { residentMegabytes, type ServerProcess } from './server-process'
import { median } from './statistics'
import type { Load } from './wrk'

/** One of the programs in a race, and how it did so far. */
export interface Lane {
  readonly name: string
  readonly samples: Sample[]
  /** Starts it and warms it up. */
  open(): Promise<Contender>
}

/** A server that runs and the load it is to bear. */
export interface Contender extends AsyncDisposable {
  readonly server: ServerProcess
  readonly load: Load
}

type Sample = Omit<LaneSummary, 'name'>

/** A floor that sends the bytes of `expected`; without it, a plain answer. */
export function floorLane(
  bench: Bench,
  race: Race,
  floor: FloorName,
  expected: Answer | undefined,
): Lane {
  const told: FloorAnswer = {
    init: { status: expected?.status ?? 200, headers: expected?.headers ?? plainHeaders },
    answer: expected?.text ?? '',
  }
  return {
    name: `floor ${floor}`,
    samples: [],
    async open() {
      await using opening = new AsyncDisposableStack()
      const server = opening.use(await race.fixture.openFloor(bench, floor, told))
      const load = createLoad(bench, race, placeholderClient, 'x'.repeat(500))
      if (expected) requireSameAnswer(await rehearse(server.ready.url, load), expected)
      await measure(bench, race, { server, load }, bench.options.warmUp)
      return createContender(server, load, opening.move())
    },
  }
}

export function satchelLane(bench: Bench, race: Race, name = 'satchel'): Lane {
  return {
    name,
    samples: [],
    async open() {
      await using opening = new AsyncDisposableStack()
      const contender = opening.use(await openSatchelContender(bench, race))
      await measure(bench, race, contender, bench.options.warmUp)
      return createContender(contender.server, contender.load, opening.move())
    },
  }
}

/** The answers of Satchel, so that the floors send the same bytes. */
export async function rehearseSatchel(bench: Bench, race: Race): Promise<Answer> {
  await using contender = await openSatchelContender(bench, race)
  return await rehearse(contender.server.ready.url, contender.load)
}

/** Opens every lane once, for `held` to close, and lends the contender to each round. */
export async function holdAll(held: AsyncDisposableStack, lanes: readonly Lane[]): Promise<Lane[]> {
  const lent: Lane[] = []
  for (const lane of lanes) {
    const { server, load } = held.use(await lane.open())
    const contender = createContender(server, load, new AsyncDisposableStack())
    lent.push({ ...lane, open: () => Promise.resolve(contender) })
  }
  return lent
}

/** Puts the load on a contender for some seconds. */
export async function measure(
  bench: Bench,
  race: Race,
  { server, load }: Pick<Contender, 'server' | 'load'>,
  seconds: number,
): Promise<Sample> {
  const { url } = server.ready
  const sample = race.measure
    ? await race.measure(bench, url, load, seconds)
    : await bench.wrk.run(url, load, seconds)
  return {
    objectsPerSecond: sample.perSecond * race.objectsPerRequest(bench.options.rows),
    p50: sample.p50,
    p99: sample.p99,
    megabytes: await residentMegabytes(server.pid),
  }
}

export function summarize({ name, samples }: Lane): LaneSummary {
  return {
    name,
    objectsPerSecond: median(samples.map(({ objectsPerSecond }) => objectsPerSecond)),
    p50: median(samples.map(({ p50 }) => p50)),
    p99: median(samples.map(({ p99 }) => p99)),
    megabytes: Math.max(...samples.map(({ megabytes }) => megabytes)),
  }
}

async function openSatchelContender(bench: Bench, race: Race): Promise<Contender> {
  await using opening = new AsyncDisposableStack()
  const server = opening.use(await race.fixture.openSatchel(bench, race.mode))
  const token = race.actor === undefined ? undefined : await server.issueToken(race.actor)
  const load = createLoad(bench, race, server.client, token)
  return createContender(server, load, opening.move())
}

function createLoad(bench: Bench, race: Race, client: Client, token: string | undefined): Load {
  const load = race.load(bench.options.rows, client)
  return race.actor === undefined || token === undefined ? load : { ...load, token }
}

function createContender(
  server: ServerProcess,
  load: Load,
  closing: AsyncDisposableStack,
): Contender {
  return { server, load, [Symbol.asyncDispose]: () => closing.disposeAsync() }
}

const plainHeaders = { 'content-type': 'application/json' }

const placeholderClient: Client = { clientId: 'x'.repeat(24), clientSecret: 'x'.repeat(43) }
