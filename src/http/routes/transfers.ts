import { createGunzip } from 'node:zlib'
import { Readable } from 'node:stream'
import { type AnyElysia, Elysia } from 'elysia'
import { requireStanding, requireWriter } from '../../domain/access/actor'
import { exportBlobs } from '../../domain/transfer/archive-export'
import { exportDatabase, exportStream, type Selection } from '../../domain/transfer/export'
import { importFile } from '../../domain/transfer/import'
import type { ReadTx } from '../../domain/store/store'
import { SatchelError } from '../../domain/value/error'
import { answer } from '../answer'
import { type Authorised, behind } from '../caller'
import { declaredLength } from '../body/body'
import { chunksOf, withTimeout } from '../body/chunks'
import { pacedStream } from '../body/json-stream'
import { type Call, keepOpen } from '../call'
import type { HttpContext } from '../context'

/** Imports and exports of the public command line client (protocol.md §9.4). */
export function transferRoutes(http: HttpContext): AnyElysia {
  const routes = new Elysia({ name: 'transfers' })
  for (const [path, operationId] of IMPORTS) {
    const bytes = operationId === 'importBlobs' ? blobsOf : bytesOf
    routes.post(path, ...behind(http, operationId, (request) => receive(http, request, bytes)))
  }
  return routes
    .get(
      '/:database/export/stream',
      ...behind(http, 'exportLines', async (request) => {
        await requireReader(request)
        const pieces = exportStream(request.opened.database, selectionOf(request.call))
        return await send(http, request, textOf(pieces), 'application/x-ndjson')
      }),
    )
    .get(
      '/:database/export',
      ...behind(http, 'exportDatabase', async (request) => {
        await requireReader(request)
        const pieces = exportDatabase(request.opened.database, 'json', selectionOf(request.call))
        return await send(http, request, textOf(pieces), 'application/json')
      }),
    )
    .get(
      '/:database/export/blobs',
      ...behind(http, 'exportBlobs', async (request) => {
        const { call, opened } = request
        await requireReader(request)
        const { blobs } = await opened.database.read((tx) => tx.blobs.usage(null))
        if (blobs === 0) return answer(call, null, { status: 204, type: null })
        const ids = new URLSearchParams(call.query).get('blobIds')?.split(',')
        const pieces = exportBlobs(opened.transfer, opened.clock.now(), selectionOf(call), ids)
        return await send(http, request, pieces, 'application/octet-stream')
      }),
    )
}

/** The bytes decide about the format: JSON, NDJSON or an archive. */
const IMPORTS = [
  ['/:database/import', 'importFile'],
  ['/:database/import/stream', 'importLines'],
  ['/:database/import/blobs', 'importBlobs'],
] as const

async function receive(
  http: HttpContext,
  { call, opened, actor }: Authorised,
  bytes: typeof bytesOf,
): Promise<Response> {
  const { address } = call
  const change = { operation: 'import', database: opened.name, caller: actor, address }
  using stack = new DisposableStack()
  const held = stack.use(await http.hosts.hold(opened.name))
  stack.use(keepOpen(call))
  const imported = await http.record(change, async (record) => {
    const allow = (tx: ReadTx) => requireWriter(tx, actor, opened.clock.now())
    await opened.database.write((tx) => {
      allow(tx)
      record(tx, 'begun')
    })
    return await importFile(held.opened.transfer, opened.clock, bytes(http, call), {
      target: null,
      isAtomic: false,
      isDryRun: false,
      limits: http.importLimits,
      size: null,
      name: null,
      progress: () => undefined,
      allow,
      signal: call.sent.signal,
    })
  })
  return answer(call, JSON.stringify({ ok: true, ...imported }))
}

/** The body, unpacked. The disk bounds its size, as that of every import (promise 36). */
function bytesOf(http: HttpContext, { sent }: Call): AsyncIterable<Uint8Array> {
  const chunks = chunksOf(sent, declaredLength(sent), () => undefined)
  const packed = withTimeout(chunks, http.blobs.timeout)
  const encoding = sent.headers.get('content-encoding')
  if (encoding === null || encoding === 'identity') return packed
  if (encoding === 'gzip' || encoding === 'x-gzip') return unpack(packed)
  throw new SatchelError(
    'UNSUPPORTED_MEDIA_TYPE',
    'An import is sent plain or with Content-Encoding: gzip',
  )
}

/** Throws `INVALID_REQUEST` for the blobs of an export of Dexie Cloud, which are no zip. */
async function* blobsOf(http: HttpContext, call: Call): AsyncGenerator<Uint8Array> {
  let isFirst = true
  for await (const chunk of bytesOf(http, call)) {
    if (isFirst && chunk.length > 0) {
      // A zip begins with PK.
      if (chunk[0] !== 0x50) {
        throw new SatchelError(
          'INVALID_REQUEST',
          'blobs.dcbl has a private format of Dexie Cloud: remove it from the zip to import the rest',
        )
      }
      isFirst = false
    }
    yield chunk
  }
}

async function* unpack(packed: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const source = Readable.from(packed, { objectMode: false })
  const unpacked = createGunzip()
  source.on('error', (error) => unpacked.destroy(error))
  try {
    for await (const bytes of source.pipe(unpacked)) yield bytes as Uint8Array
  } catch (error) {
    if (error instanceof SatchelError) throw error
    throw new SatchelError('INVALID_REQUEST', 'The body is not gzip, or ends too early')
  } finally {
    source.destroy()
    unpacked.destroy()
  }
}

async function requireReader({ opened, actor }: Authorised): Promise<void> {
  await opened.database.read((tx) => requireStanding(tx, actor))
}

/** Streams a file, to a reader who may still read when each piece was read. The database stays open until its end. */
async function send(
  http: HttpContext,
  request: Authorised,
  pieces: AsyncGenerator<Uint8Array, void>,
  type: string,
): Promise<Response> {
  const { call, opened } = request
  using undo = new DisposableStack()
  undo.use(await http.hosts.hold(opened.name))
  // Finding the next objects of a part may take longer; a reader that stalls is cut by the stream.
  undo.use(keepOpen(call))
  undo.defer(() => void pieces.return())
  async function readNext(): Promise<Uint8Array | undefined> {
    const { value } = await pieces.next()
    await requireReader(request)
    return value ?? undefined
  }
  // The first piece is made before the answer begins, so that an unknown table gets its own status.
  let first = await readNext()
  const held = undo.move()
  const body = pacedStream(
    async () => {
      const piece = first ?? (await readNext())
      first = undefined
      return piece
    },
    {
      failed: (error) => http.failure(call.id, error),
      reservation: call.reservation,
      released: () => held.dispose(),
    },
  )
  return answer(call, body, { type })
}

async function* textOf(pieces: AsyncIterable<{ readonly text: string }>) {
  for await (const { text } of pieces) if (text !== '') yield Buffer.from(text)
}

function selectionOf({ query }: Call): Selection {
  const parameters = new URLSearchParams(query)
  return { realm: parameters.get('realmId'), table: parameters.get('table') }
}
