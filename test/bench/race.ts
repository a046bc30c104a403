import type { Bench, Workload } from './bench'
import type { Fixture } from './fixture'
import type { FloorName } from './floors/serve'
import {
  floorLane,
  holdAll,
  measure,
  rehearseSatchel,
  satchelLane,
  summarize,
  type Lane,
} from './lane'
import type { Bar, Figure } from './result'
import type { Actor, Client, Mode } from './satchel'
import { median } from './statistics'
import type { Load, LoadSample } from './wrk'

/** Floors and Satchel under the same load, in turn (design.md §7). */
export interface Race {
  readonly name: string
  readonly title: string
  readonly fixture: Fixture
  /** Every floor gives one figure: Satchel's rate divided by the floor's. */
  readonly floors: readonly { readonly floor: FloorName; readonly bar: Bar }[]
  /** `development` unless told. */
  readonly mode?: Mode
  /** Whose token is sent; absent: none. */
  readonly actor?: Actor
  /** The path of the request, from the server's root. */
  load(rows: number, client: Client): Omit<Load, 'token'>
  objectsPerRequest(rows: number): number
  /** How the load is put on the server; `wrk` unless told. */
  measure?(bench: Bench, url: string, load: Load, seconds: number): Promise<LoadSample>
}

/** The workload that runs a race, alternating its contenders, and compares them round by round. */
export function race(race: Race): Workload {
  return {
    name: race.name,
    async run(bench) {
      const { isFloorOnly } = bench.options
      const answer = isFloorOnly ? undefined : await rehearseSatchel(bench, race)
      const floors = race.floors.map(({ floor }) => floorLane(bench, race, floor, answer))
      const lanes = isFloorOnly ? floors : [...floors, satchelLane(bench, race)]
      await runRounds(bench, race, lanes)
      return compare(race, floors, lanes[floors.length])
    },
    async duel(before, after) {
      const lanes = [satchelLane(before, race, 'before'), satchelLane(after, race, 'after')]
      await runRounds(after, race, lanes)
      const [former = [], latter = []] = lanes.map(({ samples }) =>
        samples.map(({ objectsPerSecond }) => objectsPerSecond),
      )
      const title = race.mode === 'production' ? `${race.title}, production` : race.title
      return [{ title, unit: '/s', isLowerBetter: false, before: former, after: latter }]
    },
  }
}

/** The same race in development and in production, where limits are on. */
export function races(each: Race): Workload[] {
  return [race(each), race({ ...each, name: `${each.name}-production`, mode: 'production' })]
}

/** Measures every lane once a round, in turn from the one end and from the other. */
async function runRounds(bench: Bench, race: Race, lanes: readonly Lane[]): Promise<void> {
  const { rounds, seconds } = bench.options
  await using held = new AsyncDisposableStack()
  const entries = race.fixture.lifetime === 'race' ? await holdAll(held, lanes) : lanes
  for (let round = 0; round < rounds; round += 1) {
    for (const lane of round % 2 === 0 ? entries : entries.toReversed()) {
      await using contender = await lane.open()
      lane.samples.push(await measure(bench, race, contender, seconds))
    }
    bench.say(`  round ${round + 1}: ${lanes.map(describeLast).join(', ')}`)
  }
}

function compare(race: Race, floors: readonly Lane[], satchel: Lane | undefined): Figure[] {
  return race.floors.map(({ bar }, index) => {
    const floor = floors[index]
    const values = (satchel?.samples ?? []).map(
      ({ objectsPerSecond }, round) =>
        objectsPerSecond / (floor?.samples[round]?.objectsPerSecond ?? Number.NaN),
    )
    return {
      title: race.title,
      mode: race.mode ?? 'development',
      bar,
      values,
      value: median(values),
      ...(floor ? { floor: summarize(floor) } : {}),
      ...(satchel ? { satchel: summarize(satchel) } : {}),
    }
  })
}

function describeLast({ name, samples }: Lane): string {
  const rate = samples.at(-1)?.objectsPerSecond ?? Number.NaN
  return `${name} ${Math.round(rate).toLocaleString('en')}/s`
}
