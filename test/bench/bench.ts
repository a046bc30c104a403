import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

import type { Options } from './options'
import type { Figure } from './result'
import { createSeeds, type Seeds } from './seed'
import { createWrk, type Wrk } from './wrk'

/** A row of the table of design.md §7. */
export interface Workload {
  readonly name: string
  run(bench: Bench): Promise<Figure[]>
}

/** What every workload is handed. Disposing removes its files. */
export interface Bench extends AsyncDisposable {
  readonly options: Options
  readonly wrk: Wrk
  readonly seeds: Seeds
  readonly signal: AbortSignal
  /** A path nothing has used, for a data folder or a file. */
  newPath(name: string): string
  /** Tells how far the benchmark is. */
  readonly say: (text: string) => void
}

/**
 * Makes the working folder `dist/bench-data`: on the disk of the checkout, because the temporary
 * folder is often in memory, where syncing costs nothing.
 */
export async function createBench(options: Options, signal: AbortSignal): Promise<Bench> {
  const root = join(import.meta.dir, '..', '..', 'dist', 'bench-data')
  if (!options.isReusing) await rm(root, { recursive: true, force: true })
  const scratch = join(root, 'scratch')
  await rm(scratch, { recursive: true, force: true })
  await mkdir(scratch, { recursive: true })
  let paths = 0
  return {
    options,
    signal,
    say,
    wrk: createWrk(scratch, signal),
    seeds: createSeeds({ folder: root, options, signal, say }),
    newPath: (name) => join(scratch, `${++paths}-${name}`),
    async [Symbol.asyncDispose]() {
      await rm(options.isReusing ? scratch : root, { recursive: true, force: true })
    },
  }
}

function say(text: string): void {
  process.stderr.write(`${text}\n`)
}
