import { readFile } from 'node:fs/promises'

import type { Workload } from '../bench'
import { openEmptySatchel } from '../fixture'
import { singleObjects } from '../requests'
import type { Figure } from '../result'
import { median } from '../statistics'

/**
 * How many units share one sync to disk: the requests of a load divided by the calls of
 * `fsync` and `fdatasync` that strace saw meanwhile, those of checkpoints included.
 */
export const unitsPerSync: Workload = {
  name: 'units-per-sync',
  async run(bench) {
    const figure: Omit<Figure, 'values' | 'value'> = {
      title: 'POST /my/<t> one object: units per fsync',
      bar: { limit: 'at least', bar: 16, unit: 'units' },
    }
    if (bench.options.isFloorOnly) return []
    if (Bun.which('strace') === null) {
      return [{ ...figure, values: [], value: Number.NaN, skipped: 'strace is not installed' }]
    }
    const values: number[] = []
    for (let round = 0; round < bench.options.rounds; round += 1) {
      const trace = bench.newPath('fsync.trace')
      await using satchel = await openEmptySatchel(bench, [], strace(trace))
      const load = { ...singleObjects(), token: await satchel.issueToken('writer') }
      const before = await countSyncs(trace)
      const { requests } = await bench.wrk.run(satchel.ready.url, load, bench.options.seconds)
      values.push(requests / ((await countSyncs(trace)) - before))
    }
    return [{ ...figure, values, value: median(values) }]
  },
}

/** Stops the process at these two calls only, and leaves it its process id. */
function strace(trace: string): string[] {
  const calls = ['-e', 'trace=fsync,fdatasync', '-e', 'signal=none']
  return ['strace', '-D', '-f', '--seccomp-bpf', '-qq', ...calls, '-o', trace]
}

async function countSyncs(trace: string): Promise<number> {
  return (await readFile(trace, 'utf8')).match(/\b(fsync|fdatasync)\(/g)?.length ?? 0
}
