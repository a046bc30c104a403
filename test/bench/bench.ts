import { mkdirSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'

import type { Options } from './options'
import type { Duel, Figure } from './result'
import { createSeeds, type Seeds } from './seed'
import { createWrk, type Wrk } from './wrk'

/** A row of the table of design.md §7. */
export interface Workload {
  readonly name: string
  run(bench: Bench): Promise<Figure[]>
  /** Two executables under the same load, in turn; of a race. */
  readonly duel?: (before: Bench, after: Bench) => Promise<Duel[]>
  /** It moves so much that a comparison runs it by name only. */
  readonly isLong?: boolean
}

/** The context of every workload. Disposing removes its files. */
export interface Bench extends AsyncDisposable {
  readonly options: Options
  readonly wrk: Wrk
  readonly seeds: Seeds
  readonly signal: AbortSignal
  /** The same with another executable, on data of its own. */
  withExecutable(file: string): Bench
  /** A path nothing has used, for a data folder or a file. */
  newPath(name: string): string
  /** Tells how far the benchmark is. */
  readonly say: (text: string) => void
}

/**
 * Makes a working folder in `dist`: on the disk of the checkout, because the temporary folder is
 * often in memory, where syncing costs nothing. Two runs share nothing unless both reuse the seeds.
 */
export async function createBench(options: Options, signal: AbortSignal): Promise<Bench> {
  const dist = join(import.meta.dir, '..', '..', 'dist')
  const kept = join(dist, 'bench-data')
  await mkdir(options.isReusing ? kept : dist, { recursive: true })
  const scratch = await mkdtemp(join(dist, 'bench-run-'))
  const folder = options.isReusing ? kept : scratch
  let paths = 0
  const bench: Bench = {
    options,
    signal,
    say,
    wrk: createWrk(scratch, signal),
    seeds: createSeeds({ folder, options, signal, say }),
    withExecutable(satchel) {
      const other = { ...options, satchel }
      const grounds = join(folder, 'against')
      mkdirSync(grounds, { recursive: true })
      const seeds = createSeeds({ folder: grounds, options: other, signal, say })
      return { ...bench, options: other, seeds }
    },
    newPath: (name) => join(scratch, `${++paths}-${name}`),
    [Symbol.asyncDispose]: () => rm(scratch, { recursive: true, force: true }),
  }
  return bench
}

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}
