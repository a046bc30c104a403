import type { Scratch, ScratchWriter } from '../../domain/store/scratch'
import { SatchelError } from '../../domain/value/error'
import { nextTurn } from '../../domain/value/turn'
import { free, freeChunk, gather } from './buffer'
import { type ChunkSource, tooSlow, type UploadTimeout, withTimeout } from './chunks'

const MIB = 1024 * 1024

/** A body is written to a file while it arrives when more of it than this would be in memory, in bytes. */
const SHARE = MIB
/** The same while memory is short. */
const SMALL_SHARE = 64 * 1024
/** The bytes of all bodies in memory, before they are parsed. From the first figure on memory is short. */
const SHORT = 32 * MIB
const MEMORY = 48 * MIB
/** The files of all bodies and of those of one caller, in bytes. A single file may be larger. */
const FILES = 1024 * MIB
const FILES_OF_CALLER = 64 * MIB
/** A body may be cut in favour of others when it began this many ms ago … */
const OLD = 5_000
/** … and has arrived more slowly than this, bytes per second. */
const SLOW = 64 * 1024
/** How much of a file is read at once, in bytes. */
const PIECE = MIB

/** The memory and the files of all bodies from their first chunk until they are parsed. */
export interface Arrivals {
  /**
   * Receives a body: in memory, or in a file when it is large or memory is short. Only bytes
   * that have arrived are counted, so a caller that announces much and sends little keeps out nobody.
   * When there is no room, bodies that arrive slowly are cut. Throws `BUSY`, `TOO_SLOW`, `STORAGE_FULL`, and as the source.
   */
  receive(source: BodySource): Promise<Arrival>
}

export interface BodySource {
  readonly chunks: ChunkSource
  /** The place for a file. */
  readonly scratch: Scratch
  /** The files of a caller are counted together. */
  readonly caller: string
  readonly timeout: UploadTimeout | undefined
}

/** A body that has arrived. Disposing it frees its memory, or removes its file. */
export interface Arrival extends AsyncDisposable {
  /** In bytes. */
  readonly size: number
  /** All bytes; those of a file are read now. The caller frees them. To be called once. */
  take(): Promise<Uint8Array>
  /** The bytes piece by piece; each is valid until the next one. */
  pieces(): AsyncIterable<Uint8Array>
}

/** What a body takes. */
interface Claim {
  readonly caller: string
  /** `performance.now()` */
  readonly begun: number
  received: number
  memory: number
  file: number
  /** Ends the arrival. */
  readonly cut: () => void
  isArriving: boolean
}

/** `oldAfter`: when a body may be cut, ms. */
export function createArrivals({ oldAfter = OLD } = {}): Arrivals {
  const claims = new Set<Claim>()
  const filesByCaller = new Map<string, number>()
  let memory = 0
  let files = 0

  function addMemory(claim: Claim, more: number): void {
    makeRoom(claim, () => memory + more <= MEMORY)
    memory += more
    claim.memory += more
  }

  function addFile(claim: Claim, more: number): void {
    const ofCaller = () => filesByCaller.get(claim.caller) ?? 0
    makeRoom(claim, () => {
      const [others, othersOfCaller] = [files - claim.file, ofCaller() - claim.file]
      return (
        (others === 0 || files + more <= FILES) &&
        (othersOfCaller === 0 || ofCaller() + more <= FILES_OF_CALLER)
      )
    })
    files += more
    claim.file += more
    filesByCaller.set(claim.caller, ofCaller() + more)
  }

  function release(claim: Claim): void {
    claims.delete(claim)
    memory -= claim.memory
    files -= claim.file
    const rest = (filesByCaller.get(claim.caller) ?? 0) - claim.file
    if (rest > 0) filesByCaller.set(claim.caller, rest)
    else filesByCaller.delete(claim.caller)
    claim.memory = claim.file = 0
  }

  /** Cuts bodies that arrive slowly, the slowest first, until there is room. Throws `BUSY`. */
  function makeRoom(claim: Claim, isThere: () => boolean): void {
    if (isThere()) return
    const now = performance.now()
    const rateOf = ({ received, begun }: Claim) => (received * 1_000) / (now - begun)
    const slow = [...claims]
      .filter((other) => other !== claim && other.isArriving && now - other.begun >= oldAfter)
      .filter((other) => rateOf(other) < SLOW)
      .toSorted((one, other) => rateOf(one) - rateOf(other))
    for (const other of slow) {
      other.cut()
      release(other)
      if (isThere()) return
    }
    // At once: others that ask now have its room.
    release(claim)
    throw tooMany()
  }

  return {
    async receive({ chunks, scratch, caller, timeout }) {
      const claim: Claim = {
        caller,
        begun: performance.now(),
        received: 0,
        memory: 0,
        file: 0,
        isArriving: true,
        cut() {
          claim.isArriving = false
          chunks.cancel()
        },
      }
      await using stack = new AsyncDisposableStack()
      claims.add(claim)
      stack.defer(() => release(claim))
      const gathered = stack.use(gather(SHARE))
      let file: ScratchWriter | undefined

      /** Writes what is in memory to the file. */
      async function empty(): Promise<ScratchWriter> {
        addFile(claim, gathered.length)
        file ??= stack.use(await scratch.create('json'))
        await file.write(gathered.bytes())
        gathered.clear()
        return file
      }

      async function add(chunk: Uint8Array): Promise<void> {
        const share = memory - claim.memory > SHORT ? SMALL_SHARE : SHARE
        if (gathered.length + chunk.length > share) {
          const writer = await empty()
          if (chunk.length >= SMALL_SHARE) {
            addFile(claim, chunk.length)
            await writer.write(chunk)
            return freeChunk(chunk)
          }
        }
        const more = gathered.length + chunk.length - claim.memory
        if (more > 0) addMemory(claim, more)
        gathered.add(chunk)
      }

      try {
        for await (const chunk of timeout === undefined
          ? all(chunks)
          : withTimeout(chunks, timeout)) {
          claim.received += chunk.length
          if (claim.isArriving) await add(chunk)
        }
      } catch (error) {
        // The source of a body that was cut reports that it ended early.
        throw claim.isArriving ? error : tooSlow()
      }
      if (!claim.isArriving) throw tooSlow()
      claim.isArriving = false
      if (file !== undefined) {
        if (gathered.length > 0) await empty()
        gathered[Symbol.dispose]()
        memory -= claim.memory
        claim.memory = 0
        await file.close()
      }
      const owned = stack.move()
      const name = file?.name
      return {
        size: claim.received,
        pieces: () =>
          name === undefined ? piecesOf(gathered.bytes()) : piecesOfFile(scratch, name),
        take: async () => (name === undefined ? gathered.take() : await readAll(scratch, name)),
        [Symbol.asyncDispose]: () => owned.disposeAsync(),
      }
    },
  }
}

async function* all({ read }: ChunkSource): AsyncGenerator<Uint8Array> {
  for (let chunk = await read(); chunk !== undefined; chunk = await read()) yield chunk
}

/** The pieces that a reader gets, in bytes: it parses one in a few ms. */
const SMALL_PIECE = 64 * 1024

export async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += SMALL_PIECE) yield bytes.subarray(at, at + SMALL_PIECE)
}

async function* piecesOfFile(scratch: Scratch, name: string): AsyncGenerator<Uint8Array> {
  using file = await scratch.open(name)
  for (let at = 0; at < file.size; at += SMALL_PIECE) {
    const piece = file.read(at, SMALL_PIECE)
    yield piece
    free(piece)
  }
}

async function readAll(scratch: Scratch, name: string): Promise<Uint8Array> {
  using file = await scratch.open(name)
  const bytes = Buffer.allocUnsafeSlow(file.size)
  for (let at = 0; at < file.size; at += PIECE) {
    bytes.set(file.read(at, PIECE), at)
    await nextTurn()
  }
  return bytes
}

/** The error when a budget of memory or of files is spent. */
export function tooMany(): SatchelError {
  return new SatchelError('BUSY', 'Too many large bodies at once: repeat the request', {
    retryAfter: 2,
  })
}
