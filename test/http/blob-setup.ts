import { existsSync, readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterKnock, type Caller, type DataServer, KNOCK, setupData } from './setup'

/** The answer to a download of a blob, read to its end. */
export interface Download {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
  /** The code of an error body. */
  readonly code: string | undefined
}

export interface UploadOptions {
  /** In the address, as it stands there. */
  readonly ct?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface BlobCaller extends Caller {
  upload(id: string, bytes: Sent, options?: UploadOptions): Promise<Download>
  /** Uploads and gives the ref. */
  bring(id: string, bytes: Sent, type?: string): Promise<string>
  download(ref: string, headers?: Readonly<Record<string, string>>): Promise<Download>
}

type Sent = string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>

export function blobCaller(caller: Caller, base: string): BlobCaller {
  const authorization: Record<string, string> =
    caller.token === undefined ? {} : { authorization: `Bearer ${caller.token}` }

  async function upload(id: string, body: Sent, { ct, headers }: UploadOptions = {}) {
    const query = ct === undefined ? '' : `?ct=${ct}`
    const all = { ...authorization, ...headers }
    return await read(
      await fetch(`${base}/blob/${id}${query}`, { method: 'PUT', headers: all, body }),
    )
  }

  return {
    ...caller,
    upload,
    async bring(id, bytes, type = 'text/plain') {
      const answer = await upload(id, bytes, { ct: encodeURIComponent(type) })
      if (answer.status !== 200) throw new Error(`${answer.status} ${answer.bytes.toString()}`)
      return refOf(answer)
    },
    download: async (ref, headers = {}) =>
      read(await fetch(`${base}/blob/${ref}`, { headers: { ...authorization, ...headers } })),
  }
}

export function refOf({ bytes }: Download): string {
  return (JSON.parse(bytes.toString()) as { ref: string }).ref
}

async function read(response: Response): Promise<Download> {
  const bytes = Buffer.from(await response.arrayBuffer())
  const { status, headers } = response
  const isError = status >= 400 && bytes.length > 0
  const code = isError ? (JSON.parse(bytes.toString()) as { code: string }).code : undefined
  return { status, headers, bytes, code }
}

export interface BlobServer extends DataServer {
  blobs(sub?: string): Promise<BlobCaller>
}

/** A server and people who upload. */
export async function setupBlobs(
  flags: Readonly<Record<string, unknown>> = {},
): Promise<BlobServer> {
  const server = await setupData(flags)
  return {
    ...server,
    async blobs(sub) {
      return blobCaller(sub === undefined ? server.anyone : await server.as(sub), server.main)
    },
  }
}

/** An upload over a connection of its own, sent part by part. */
export interface RawUpload extends Disposable {
  readonly socket: Socket
  send(bytes: string | Uint8Array): void
  /** The bytes received so far. */
  readonly received: string
  /** Resolves when the server has read the head. */
  readonly begun: Promise<void>
  /** Resolves when the server has closed the connection, or answered. */
  readonly answered: Promise<string>
  readonly closed: Promise<void>
}

/** `length`: what `Content-Length` says; undefined for a chunked body, which is not framed here. */
export function beginUpload(
  url: string,
  token: string | undefined,
  path: string,
  length: number | undefined,
  method = 'PUT',
  headers = '',
): RawUpload {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => undefined)
  let all = ''
  let received = ''
  const begun = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<string>()
  const closed = Promise.withResolvers<void>()
  socket.on('data', (data) => {
    all += data.toString('latin1')
    received = afterKnock(all) ?? ''
    if (all !== '') begun.resolve()
    if (received !== '') answered.resolve(received)
  })
  socket.on('close', () => {
    answered.resolve(received)
    closed.resolve()
  })
  const framing = length === undefined ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`
  const bearer = token === undefined ? '' : `Authorization: Bearer ${token}\r\n`
  socket.write(
    `${KNOCK}${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${bearer}${headers}${framing}\r\n\r\n`,
  )
  return {
    socket,
    send: (bytes) => void socket.write(bytes),
    get received() {
      return received
    },
    begun: begun.promise,
    answered: answered.promise,
    closed: closed.promise,
    [Symbol.dispose]: () => socket.destroy(),
  }
}

export const inChunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

/** Everything below the blobs of the database `main`, sorted. */
export function filesOf(server: { readonly folder: string }): string[] {
  const folder = join(server.folder, 'databases', 'main', 'blobs')
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .toSorted()
}
