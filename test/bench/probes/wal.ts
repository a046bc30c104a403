import { statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'

import type { Bench, Workload } from '../bench'
import { openEmptySatchel } from '../fixture'
import { batches } from '../requests'
import { atMost } from '../result'
import { writerRealms } from '../rows'
import { databaseFile, type Satchel } from '../satchel'

/** How far the write-ahead log grows under batches of 64 writers, without and with a stalled reader. */
export const walSize: Workload = {
  name: 'wal-size',
  async run(bench) {
    if (bench.options.isFloorOnly) return []
    await using satchel = await openEmptySatchel(bench)
    const token = await satchel.issueToken('client')
    const sustained = await largestWal(bench, satchel, token)
    const reader = stallReader(satchel, token)
    const stalled = await largestWal(bench, satchel, token)
    reader.destroy()
    return [
      {
        title: 'WAL under sustained load',
        bar: atMost(64, 32, 'MB'),
        values: sustained,
        value: Math.max(...sustained),
      },
      {
        title: 'WAL with a stalled reader',
        bar: atMost(64, 32, 'MB'),
        values: stalled,
        value: Math.max(...stalled),
      },
    ]
  },
}

/** The most the log measured in each round of load, in MB. */
async function largestWal(bench: Bench, satchel: Satchel, token: string): Promise<number[]> {
  const wal = `${databaseFile(satchel.data)}-wal`
  const load = { ...batches(writerRealms), token }
  const sizes: number[] = []
  for (let round = 0; round < bench.options.rounds; round += 1) {
    let largest = 0
    const look = () => {
      largest = Math.max(largest, statSync(wal).size / 2 ** 20)
    }
    const watch = setInterval(look, 10)
    await bench.wrk.run(satchel.ready.url, load, bench.options.seconds)
    clearInterval(watch)
    look()
    sizes.push(largest)
  }
  return sizes
}

/** A client that asks for the whole table and takes none of it. */
function stallReader({ url, ready }: Satchel, token: string): Socket {
  const { hostname, port } = new URL(ready.url)
  const socket = connect(Number(port), hostname)
  socket.pause()
  socket.write(
    [
      `GET ${new URL(url).pathname}/all/items HTTP/1.1`,
      `Host: ${hostname}:${port}`,
      `Authorization: Bearer ${token}`,
      '\r\n',
    ].join('\r\n'),
  )
  return socket
}
