import type { Scratch, ScratchWriter } from '../../domain/store/scratch'
import { SatchelError } from '../../domain/value/error'
import { nextTurn } from '../../domain/value/turn'
import {
  type Account,
  createLedger,
  type Ledger,
  type Reservation,
  type Victim,
} from '../../limits/ledger'
import { free, freeChunk, gather } from './buffer'
import { type ChunkSource, tooSlow, type UploadTimeout, withTimeout } from './chunks'

const MIB = 1024 * 1024

/** A body is written to a file while it arrives when more of it than this would be in memory, in bytes. */
const BYTES_IN_MEMORY = MIB
/** `BYTES_IN_MEMORY` while memory is short. */
const BYTES_IN_SHORT_MEMORY = 64 * 1024
/** The bytes of all bodies in memory, before they are parsed. From the first figure on memory is short. */
const SHORT_FROM_BYTES = 32 * MIB
const MEMORY_BYTES = 48 * MIB
/** The files of all bodies and of those of one caller, in bytes. A single file may be larger. */
const FILE_BYTES = 1024 * MIB
const FILE_BYTES_OF_CALLER = 64 * MIB
/** A body may be cut in favour of others when it began this many ms ago … */
const CUT_AFTER_MS = 5_000
/** … and has arrived more slowly than this, bytes per second. */
const MIN_BYTES_PER_SECOND = 64 * 1024
/** How much of a file is read at once, in bytes. */
const READ_BYTES = MIB

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
  /** The place for a file; without one all of the body is in memory. */
  readonly scratch: Scratch | undefined
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

/** A body on its way, with what it takes. */
interface Claim {
  readonly memory: Reservation
  readonly file: Reservation
  /** `performance.now()` */
  readonly begun: number
  received: number
  isArriving: boolean
  /** Ends the arrival. */
  cut(): void
}

export interface ArrivalOptions {
  /** When a body may be cut, ms. */
  readonly oldAfter?: number
  readonly ledger?: Ledger
  /** Begins the names of the accounts. */
  readonly name?: string
}

export function createArrivals({
  oldAfter = CUT_AFTER_MS,
  ledger = createLedger(),
  name: group = 'bodies',
}: ArrivalOptions = {}): Arrivals {
  const claims = new Set<Claim>()
  const memory = ledger.open(`${group} that arrive`, {
    most: MEMORY_BYTES,
    victims: slowest,
    refuse: tooMany,
  })
  const files = ledger.open(`files of ${group}`, {
    most: FILE_BYTES,
    mostOfOwner: FILE_BYTES_OF_CALLER,
    isFreeAlone: true,
    victims: slowest,
    refuse: tooMany,
  })

  /** The bodies that arrive slowly, the slowest first. */
  function slowest(reservation: Reservation): Victim[] {
    const now = performance.now()
    const rateOf = ({ received, begun }: Claim) => (received * 1_000) / (now - begun)
    return [...claims]
      .filter(({ isArriving, begun }) => isArriving && now - begun >= oldAfter)
      .filter((other) => other.memory !== reservation && other.file !== reservation)
      .filter((other) => rateOf(other) < MIN_BYTES_PER_SECOND)
      .toSorted((one, other) => rateOf(one) - rateOf(other))
      .map((other) => ({ owner: other.memory.owner, cut: () => other.cut() }))
  }

  function release(claim: Claim): void {
    claims.delete(claim)
    memory.release(claim.memory)
    files.release(claim.file)
  }

  /** Reserves so many more bytes; without them others have the room of the body at once. */
  function add(account: Account, claim: Claim, kind: 'memory' | 'file', more: number): void {
    try {
      account.reserve(claim[kind], claim[kind].bytes + more)
    } catch (error) {
      release(claim)
      throw error
    }
  }

  return {
    async receive({ chunks, scratch, caller, timeout }) {
      const claim: Claim = {
        memory: { owner: caller, bytes: 0 },
        file: { owner: caller, bytes: 0 },
        begun: performance.now(),
        received: 0,
        isArriving: true,
        cut() {
          claim.isArriving = false
          chunks.cancel()
          release(claim)
        },
      }
      await using stack = new AsyncDisposableStack()
      claims.add(claim)
      stack.defer(() => release(claim))
      const gathered = stack.use(gather(scratch === undefined ? MEMORY_BYTES : BYTES_IN_MEMORY))
      let file: ScratchWriter | undefined

      /** Writes what is in memory to the file. */
      async function empty(place: Scratch): Promise<ScratchWriter> {
        add(files, claim, 'file', gathered.length)
        file ??= stack.use(await place.create('json'))
        await file.write(gathered.bytes())
        gathered.clear()
        return file
      }

      async function take(chunk: Uint8Array): Promise<void> {
        const others = memory.reserved - claim.memory.bytes
        const share = others > SHORT_FROM_BYTES ? BYTES_IN_SHORT_MEMORY : BYTES_IN_MEMORY
        if (scratch !== undefined && gathered.length + chunk.length > share) {
          const writer = await empty(scratch)
          if (chunk.length >= BYTES_IN_SHORT_MEMORY) {
            add(files, claim, 'file', chunk.length)
            await writer.write(chunk)
            return freeChunk(chunk)
          }
        }
        const more = gathered.length + chunk.length - claim.memory.bytes
        if (more > 0) add(memory, claim, 'memory', more)
        gathered.add(chunk)
      }

      try {
        for await (const chunk of timeout === undefined
          ? all(chunks)
          : withTimeout(chunks, timeout)) {
          claim.received += chunk.length
          if (claim.isArriving) await take(chunk)
        }
      } catch (error) {
        // The source of a body that was cut reports that it ended early.
        throw claim.isArriving ? error : tooSlow()
      }
      if (!claim.isArriving) throw tooSlow()
      claim.isArriving = false
      if (scratch !== undefined && file !== undefined) {
        if (gathered.length > 0) await empty(scratch)
        gathered[Symbol.dispose]()
        memory.release(claim.memory)
        await file.close()
      }
      const owned = stack.move()
      const name = file?.name
      const place = name === undefined || scratch === undefined ? undefined : { scratch, name }
      return {
        size: claim.received,
        pieces: () => (place === undefined ? piecesOf(gathered.bytes()) : piecesOfFile(place)),
        take: async () => (place === undefined ? gathered.take() : await readAll(place)),
        [Symbol.asyncDispose]: () => owned.disposeAsync(),
      }
    },
  }
}

async function* all({ read }: ChunkSource): AsyncGenerator<Uint8Array> {
  for (let chunk = await read(); chunk !== undefined; chunk = await read()) yield chunk
}

/** The pieces that a reader gets, in bytes: it parses one in a few ms. */
const SMALL_READ_BYTES = 64 * 1024

export async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += SMALL_READ_BYTES)
    yield bytes.subarray(at, at + SMALL_READ_BYTES)
}

interface StoredBody {
  readonly scratch: Scratch
  readonly name: string
}

async function* piecesOfFile({ scratch, name }: StoredBody): AsyncGenerator<Uint8Array> {
  using file = await scratch.open(name)
  for (let at = 0; at < file.size; at += SMALL_READ_BYTES) {
    const piece = file.read(at, SMALL_READ_BYTES)
    yield piece
    free(piece)
  }
}

async function readAll({ scratch, name }: StoredBody): Promise<Uint8Array> {
  using file = await scratch.open(name)
  const bytes = Buffer.allocUnsafeSlow(file.size)
  for (let at = 0; at < file.size; at += READ_BYTES) {
    bytes.set(file.read(at, READ_BYTES), at)
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
