import { parseArgs } from 'node:util'

export interface Options {
  /** Rounds of every race; a single round lies by up to 40 %. */
  readonly rounds: number
  /** Seconds of load per contender and round. */
  readonly seconds: number
  /** Seconds of the same load that each contender of a race bears before it is measured. */
  readonly warmUp: number
  /** Names of the workloads to run; empty means all. */
  readonly only: readonly string[]
  /** Objects in the large table. */
  readonly rows: number
  /** Measure the floors alone, without an executable. */
  readonly isFloorOnly: boolean
  /** Keep the seeded databases and use those of an earlier run. */
  readonly isReusing: boolean
  /** Where the results are written as JSON. */
  readonly json: string
  /** The executable under test. */
  readonly satchel: string
  /** Another executable that it is compared with, round by round. */
  readonly against: string | undefined
  /** Leave out all but the races. */
  readonly isRacesOnly: boolean
  /** Measure what takes minutes too. */
  readonly isLong: boolean
}

export const usage = `bun run bench [options]

  --only NAME      run this workload only; may be repeated
  --rounds N       rounds of every race (5)
  --seconds N      seconds of load per contender and round (3)
  --warm-up N      seconds of the same load before the first round of a race, and before each round
                   that begins with an empty database (5): Satchel's code is compiled after about
                   three, that of a floor after one
  --rows N         objects in the large table, a multiple of 1,000 from 20,000 up (1000000)
  --floor-only     measure the floors alone, without an executable
  --reuse          keep the seeded databases in dist/bench-data and use those of an earlier run
  --satchel FILE   the executable under test (dist/satchel)
  --against FILE   compare with this executable instead of the floors: rounds in turn, each on data
                   of its own; uploads and downloads of more than 256 MiB a round only by name.
                   All races with --rounds 11 --seconds 1 take about 45 minutes
  --races          leave out all but the races
  --long           sync: also first syncs of up to 1,000,000 rows, 10,000 sockets, an import beside
                   1,000 of them, the add-on's own
                   way, and pouchdb-server beside it, which is fetched for that
  --json FILE      where the results are written (dist/bench.json)
  --list           print the names of the workloads
  --help

Exits with 1 when a workload fails, a bar is not met or, with --against, one is slower than before.
`

/**
 * Reads the command line.
 * @throws an Error whose message is for the caller.
 */
export function parseOptions(
  argv: readonly string[],
): Options & { isList: boolean; isHelp: boolean } {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      'warm-up': { type: 'string', default: '5' },
      rows: { type: 'string', default: '1000000' },
      'floor-only': { type: 'boolean', default: false },
      reuse: { type: 'boolean', default: false },
      satchel: { type: 'string', default: 'dist/satchel' },
      against: { type: 'string' },
      races: { type: 'boolean', default: false },
      long: { type: 'boolean', default: false },
      json: { type: 'string', default: 'dist/bench.json' },
      list: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const rows = requireWhole('--rows', values.rows)
  if (rows < 20_000 || rows % 1000 !== 0) {
    throw new Error('--rows takes a multiple of 1,000 from 20,000 up')
  }
  return {
    rounds: requireWhole('--rounds', values.rounds),
    seconds: requireWhole('--seconds', values.seconds),
    warmUp: requireWhole('--warm-up', values['warm-up']),
    only: values.only,
    rows,
    isFloorOnly: values['floor-only'],
    isReusing: values.reuse,
    satchel: values.satchel,
    against: values.against,
    isRacesOnly: values.races,
    isLong: values.long,
    json: values.json,
    isList: values.list,
    isHelp: values.help,
  }
}

function requireWhole(flag: string, text: string): number {
  const number = Number(text)
  if (!Number.isSafeInteger(number) || number < 1) {
    throw new Error(`${flag} takes a whole number from 1 up`)
  }
  return number
}
