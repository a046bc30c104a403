import { heapStats } from 'bun:jsc'
import process from 'node:process'
import { readConfig } from '../../src/config/config'
import { openLogs } from '../../src/log/log'
import { startServer } from '../../src/server'
import type { Order, Reply } from './server'
import { moveTime } from './moved-time'

/** Serves from source, in a process of its own, by a clock that the parent moves. */

interface Given {
  readonly start: number
  readonly flags: Readonly<Record<string, unknown>>
}

const { start, flags } = JSON.parse(process.argv[2] ?? '') as Given
const time = moveTime(start)
let bytes = 0
let errors: string[] = []
const sink = {
  write(line: string) {
    bytes += line.length
    if (/"level":"(?:error|fatal)"/.test(line)) errors.push(line)
  },
  flush: async () => {},
  flushNow() {},
}
const logs = openLogs({ clock: time, level: 'info', format: 'json', sink })
const server = await startServer(readConfig({ environment: {}, flags }), { clock: time, logs })

function tell(reply: Reply): void {
  process.send?.(reply)
}

process.on('message', (order: Order) => {
  if (order.do === 'advance') time.advance(order.ms)
  if (order.do === 'stop') {
    void server.stop().then(() => process.disconnect())
    return
  }
  if (order.do === 'measure') Bun.gc(true)
  tell({
    memory: process.memoryUsage().rss,
    heap: heapStats().heapSize,
    lines: bytes,
    errors,
  })
  errors = []
})
// The parent may have been killed.
process.on('disconnect', () => process.exit())
tell({ client: server.client })
