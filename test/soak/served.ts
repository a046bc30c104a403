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

async function obey(order: Order): Promise<void> {
  if (order.do === 'advance') time.advance(order.ms)
  if (order.do === 'stop') {
    await server.stop()
    return process.disconnect()
  }
  if (order.do === 'measure') await letGo()
  tell({
    memory: process.memoryUsage().rss,
    heap: heapStats().heapSize,
    lines: bytes,
    errors,
  })
  errors = []
}

/**
 * Frees garbage and compiled code. For weeks the engine goes on to compile functions that seldom run: up to 25 MiB, three
 * times the objects of the server. This cache is as large as the program at most, and would hide a leak.
 */
async function letGo(): Promise<void> {
  // Code is kept while garbage is collected beside the work, and while it is in use: until this turn has ended.
  Bun.gc(true)
  Bun.shrink()
  await Bun.sleep(0)
  Bun.gc(true)
}

process.on('message', (order: Order) => void obey(order))
// The parent may have been killed.
process.on('disconnect', () => process.exit())
tell({ client: server.client })
