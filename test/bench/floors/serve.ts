import { blobInFloor, blobOutFloor } from './blob'
import type { Floor, FloorSettings } from './floor'
import {
  filterFloor,
  pageFloor,
  pointFloor,
  realmsFloor,
  smallListFloor,
  streamFloor,
} from './read'
import { tokenFloor } from './token'
import { batchFloor, groupFloor, singleFloor } from './write'

/** The floor of every workload, by name. */
export const floors = {
  point: pointFloor,
  realms: realmsFloor,
  'small-list': smallListFloor,
  stream: streamFloor,
  filter: filterFloor,
  page: pageFloor,
  group: groupFloor,
  single: singleFloor,
  batch: batchFloor,
  token: tokenFloor,
  'blob-in': blobInFloor,
  'blob-out': blobOutFloor,
} satisfies Record<string, Floor>

export type FloorName = keyof typeof floors

async function serve(name: FloorName, settings: FloorSettings): Promise<void> {
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 255,
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    routes: await floors[name](settings),
    fetch: () => new Response(null, { status: 404 }),
  })
  const url = server.url.origin
  process.stdout.write(
    `${JSON.stringify({ event: 'ready', url, databases: [{ name: 'main', url: `${url}/main` }] })}\n`,
  )
}

const [name, settings] = Bun.argv.slice(2)
await serve(name as FloorName, JSON.parse(settings ?? '') as FloorSettings)
