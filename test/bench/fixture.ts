import type { Bench } from './bench'
import type { FloorSettings } from './floors/floor'
import type { FloorName } from './floors/serve'
import { type Mode, openSatchel, prepareSatchel, type Satchel } from './satchel'
import { startServer, type ServerProcess } from './server-process'

/** The parameters that the race gives to a floor; its fixture knows the rest. */
export type FloorAnswer = Pick<FloorSettings, 'init' | 'answer'>

/** The data two contenders are raced on, and how each is started with it. */
export interface Fixture {
  /** `race`: one start for all rounds. `round`: every round begins with an empty database. */
  readonly lifetime: 'race' | 'round'
  openFloor(bench: Bench, floor: FloorName, answer: FloorAnswer): Promise<ServerProcess>
  openSatchel(bench: Bench, mode?: Mode): Promise<Satchel>
}

/** The seeded databases (`seed.ts`). Only for reading. */
export const largeTable: Fixture = {
  lifetime: 'race',
  openFloor: async (bench, floor, answer) =>
    startFloor(bench, floor, { ...answer, indexes: [], file: await bench.seeds.floor() }),
  openSatchel: async (bench, mode) =>
    openSatchel({
      ...(mode === undefined ? {} : { mode }),
      executable: bench.options.satchel,
      signal: bench.signal,
      ...(await bench.seeds.satchel()),
    }),
}

/** An empty table `items` with these properties indexed, and the realms of `rows.ts`. */
export function emptyTable(indexes: readonly string[] = []): Fixture {
  return {
    lifetime: 'round',
    openFloor: (bench, floor, answer) =>
      startFloor(bench, floor, { ...answer, indexes, file: bench.newPath('floor.sqlite') }),
    openSatchel: (bench, mode) => openEmptySatchel(bench, indexes, [], mode),
  }
}

/** Satchel on a fresh folder with an empty table `items`. */
export async function openEmptySatchel(
  bench: Bench,
  indexes: readonly string[] = [],
  wrapper: readonly string[] = [],
  mode: Mode = 'development',
): Promise<Satchel> {
  const settings = {
    executable: bench.options.satchel,
    data: bench.newPath('satchel'),
    signal: bench.signal,
    wrapper,
    mode,
  }
  await using opening = new AsyncDisposableStack()
  const satchel = opening.use(await openSatchel(settings))
  const schema = { items: ['@id', ...indexes].join(', ') }
  await prepareSatchel(satchel, settings, schema, ['reader', 'lister', 'writer'])
  opening.move()
  return satchel
}

function startFloor(
  bench: Bench,
  floor: FloorName,
  settings: FloorSettings,
): Promise<ServerProcess> {
  const program = `${import.meta.dir}/floors/serve.ts`
  return startServer({
    command: [process.execPath, program, floor, JSON.stringify(settings)],
    log: bench.newPath(`${floor}.log`),
    signal: bench.signal,
  })
}
