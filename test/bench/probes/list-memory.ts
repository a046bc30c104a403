import type { Workload } from '../bench'
import { download } from '../download'
import { largeTable } from '../fixture'
import { atMost } from '../result'
import { peakMegabytes, residentMegabytes, resetPeak } from '../server-process'
import { median } from '../statistics'

const downloadsPerRound = 3

/** The memory that the whole large list costs a fresh server, and the time to its first byte. */
export const listMemory: Workload = {
  name: 'list-memory',
  async run(bench) {
    if (bench.options.isFloorOnly) return []
    const growths: number[] = []
    const firstBytes: number[] = []
    for (let round = 0; round < bench.options.rounds; round += 1) {
      await using satchel = await largeTable.openSatchel(bench)
      const token = await satchel.issueToken('client')
      const before = await residentMegabytes(satchel.pid)
      await resetPeak(satchel.pid)
      for (let number = 0; number < downloadsPerRound; number += 1) {
        firstBytes.push((await download(`${satchel.url}/all/items`, token)).firstByte)
      }
      growths.push((await peakMegabytes(satchel.pid)) - before)
    }
    const list = `GET /all/<t>, ${bench.options.rows.toLocaleString('en')} objects`
    return [
      {
        title: `${list}: RSS growth`,
        bar: atMost(96, 64, 'MB'),
        values: growths,
        value: Math.max(...growths),
      },
      {
        title: `${list}: first byte`,
        bar: atMost(20, 20, 'ms'),
        values: firstBytes,
        value: median(firstBytes),
      },
    ]
  },
}
