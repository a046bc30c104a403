import { type JsonLimits, scanJson, parseScanned } from '../../domain/json/scan'
import { scanInSlices } from '../../domain/json/slices'
import type { Scratch, ScratchFile } from '../../domain/store/scratch'
import { SatchelError } from '../../domain/value/error'
import { declaredLength, incomplete, requireJson } from './body'
import { type UploadTimeout, withTimeout } from './upload-timeout'

/** A client of sync sends all its changes at once: it cannot make a refused request smaller. */
const MAX_BYTES = 256 * 1024 * 1024
/** Bodies up to this size are read into memory as they arrive. */
const SMALL = 256 * 1024
/** The values of an object are checked where it is stored: a deep one refuses only its transaction. */
const LIMITS: JsonLimits = { depth: 1_000, values: 50_000_000 }
/** How much of a file is read at once, in bytes. */
const PIECE = 1024 * 1024

/** Reads large JSON bodies by way of a temporary file. */
export interface SpooledBodies {
  /**
   * Calls `work` with the parsed body. A large one is written to a file while it arrives; such files
   * are read, parsed and worked on one at a time, so that memory holds one of them. Throws
   * `PAYLOAD_TOO_LARGE`, `TOO_SLOW`, `STORAGE_FULL`, and as `parseJson`.
   */
  json<T>(request: Request, source: SpooledSource, work: (body: unknown) => Promise<T>): Promise<T>
}

export interface SpooledSource {
  /** The place for the file. */
  readonly scratch: Scratch
  /** False for a caller that sends no changes: its body is small. */
  readonly mayBeLarge: boolean
}

export function createSpooledBodies(timeout: UploadTimeout): SpooledBodies {
  let last: Promise<unknown> = Promise.resolve()

  function oneByOne<T>(work: () => Promise<T>): Promise<T> {
    const turn = last.then(work)
    last = turn.catch(() => undefined)
    return turn
  }

  return {
    async json(request, { scratch, mayBeLarge }, work) {
      requireJson(request)
      const length = declaredLength(request)
      const most = mayBeLarge ? MAX_BYTES : SMALL
      if (length !== undefined && length > most) throw tooLarge(most)
      if (length !== undefined && length <= SMALL) {
        const bytes = await request.bytes().catch(() => Promise.reject(incomplete()))
        if (bytes.length !== length) throw incomplete()
        scanJson(bytes, LIMITS)
        return await work(parseScanned(bytes))
      }
      await using file = await scratch.create('json')
      for await (const chunk of withTimeout(chunksOf(request, length, most), timeout)) {
        await file.write(chunk)
      }
      await file.finish()
      return await oneByOne(async () => {
        const body = await parse(await scratch.open(file.name))
        try {
          return await work(body)
        } finally {
          // The collector underestimates the memory of strings.
          Bun.gc(true)
        }
      })
    },
  }
}

async function parse(file: ScratchFile): Promise<unknown> {
  using open = file
  const bytes = new Uint8Array(open.size)
  for (let at = 0; at < open.size; at += PIECE) bytes.set(open.read(at, PIECE), at)
  const json = await scanInSlices(bytes, LIMITS)
  return await json.parse()
}

/** The chunks of a body, up to its declared length or the limit. */
function chunksOf({ body }: Request, length: number | undefined, most: number) {
  const reader = body?.getReader()
  let received = 0
  let isCancelled = false
  return {
    async read(): Promise<Uint8Array | undefined> {
      const { value } = (await reader?.read().catch(() => Promise.reject(incomplete()))) ?? {}
      received += value?.length ?? 0
      if (received > most) throw tooLarge(most)
      const isComplete = !isCancelled && (length === undefined || received === length)
      if (value === undefined && !isComplete) throw incomplete()
      return value
    },
    cancel() {
      // A pending read then ends as if the body was over.
      isCancelled = true
      reader?.cancel().catch(() => undefined)
    },
  }
}

function tooLarge(most: number): SatchelError {
  return new SatchelError(
    'PAYLOAD_TOO_LARGE',
    `The body is larger than ${most} bytes: import a file with satchel import`,
  )
}
