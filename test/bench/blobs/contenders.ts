import { rm, writeFile } from 'node:fs/promises'
import type { Bench } from '../bench'
import type { FloorSettings } from '../floors/floor'
import { openSatchel } from '../satchel'
import { type ServerProcess, startServer } from '../server-process'
import { transfer, type Transfers } from './transfers'
import { openWire } from './wire'

/** A server that takes or gives blobs. Disposing ends it and removes what it stored. */
export interface Contender extends AsyncDisposable {
  readonly server: ServerProcess
  readonly token: string | undefined
}

/** The headers of an answer of the floor: those that Satchel sends. */
export type Headers = Readonly<Record<string, string>>

export async function openFloor(
  bench: Bench,
  transfers: Transfers,
  headers: Headers,
): Promise<Contender> {
  await using opening = new AsyncDisposableStack()
  const { direction, size } = transfers
  const file = bench.newPath(`floor-blob-${direction}`)
  opening.defer(() => rm(file, { recursive: true, force: true }))
  if (direction === 'out') await writeFile(file, parts(size))
  const settings: FloorSettings = { file, init: { headers }, indexes: [], answer: '' }
  const program = `${import.meta.dir}/../floors/serve.ts`
  const server = opening.use(
    await startServer({
      command: [process.execPath, program, `blob-${direction}`, JSON.stringify(settings)],
      log: bench.newPath('floor-blob.log'),
      signal: bench.signal,
    }),
  )
  return contender(server, undefined, opening.move())
}

export async function openSatchelWithBlob(
  bench: Bench,
  { direction, size }: Transfers,
): Promise<Contender> {
  await using opening = new AsyncDisposableStack()
  const data = bench.newPath('satchel-blobs')
  opening.defer(() => rm(data, { recursive: true, force: true }))
  const { satchel: executable } = bench.options
  const server = opening.use(await openSatchel({ executable, data, signal: bench.signal }))
  const token = await server.issueToken('client')
  if (direction === 'out') {
    using wire = await openWire(server.ready.url)
    await wire.exchange({ method: 'PUT', path: '/main/blob/blob?ct=image%2Fpng', token, size })
  }
  return contender(server, token, opening.move())
}

/** The headers that Satchel sends with the bytes. */
export async function headersOf(bench: Bench, { direction }: Transfers): Promise<Headers> {
  const small = { direction, size: 10, connections: 1 }
  await using satchel = await openSatchelWithBlob(bench, small)
  const { url } = satchel.server.ready
  const authorization = `Bearer ${satchel.token}`
  const response =
    direction === 'out'
      ? await fetch(`${url}/main/blob/1:blob`, { headers: { authorization } })
      : await fetch(`${url}/main/blob/b`, { method: 'PUT', headers: { authorization }, body: 'x' })
  if (!response.ok) throw new Error(`The first blob was answered ${response.status}`)
  const framing = ['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding']
  return Object.fromEntries([...response.headers].filter(([name]) => !framing.includes(name)))
}

const WARM_SECONDS = 2

/** The first transfers of a server are not counted: its code is not compiled yet. */
export async function warmUp(
  { server, token }: Contender,
  { direction, size }: Transfers,
): Promise<void> {
  const some = { direction, size: direction === 'out' ? size : Math.min(size, 2 ** 20) }
  await transfer({ ...some, connections: 4 }, server.ready.url, token, WARM_SECONDS)
}

function contender(
  server: ServerProcess,
  token: string | undefined,
  closing: AsyncDisposableStack,
): Contender {
  return { server, token, [Symbol.asyncDispose]: () => closing.disposeAsync() }
}

function* parts(size: number): Generator<Uint8Array> {
  const part = Buffer.alloc(2 ** 20, 'x')
  for (let written = 0; written < size; written += part.length) {
    yield part.subarray(0, size - written)
  }
}
