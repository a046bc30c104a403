import { Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import type { Entry, ZipFile } from 'yauzl'
import type { Archive, PackedFile } from '../domain/transfer/archive'
import type { ScratchFile } from '../domain/store/scratch'
import { SatchelError, quoted } from '../domain/value/error'

/**
 * Reads a zip by the directory at its end, and disposes the file when it is disposed itself. Throws
 * `INVALID_REQUEST` when it has none.
 */
export async function openZip(file: ScratchFile): Promise<Archive> {
  using undo = new DisposableStack()
  undo.use(file)
  // Loaded here because few processes read a zip.
  const { Entry, fromRandomAccessReaderPromise, RandomAccessReader } = await import('yauzl')

  class FileReader extends RandomAccessReader {
    override _readStreamForRange(start: number, end: number): Readable {
      return Readable.from(file.stream(start, end), { objectMode: false })
    }

    override close(done: (error: Error | null) => void): void {
      file[Symbol.dispose]()
      done(null)
    }
  }

  const zip = await explained(
    fromRandomAccessReaderPromise(new FileReader(), file.size, { autoClose: false }),
  )
  undo.move()
  return {
    list: () => listFiles(zip),
    open: (file) => read(zip, Object.assign(new Entry(), entryOf(file)), file),
    async [Symbol.asyncDispose]() {
      zip.close()
    },
  }
}

async function* listFiles(zip: ZipFile): AsyncGenerator<PackedFile> {
  const entries = zip.eachEntry()
  let packed = 0
  for (;;) {
    const { value: entry, done } = await explained(entries.next())
    if (done === true) return
    packed += entry.compressedSize
    requireReadable(entry)
    // Files that lie in the same bytes would be unpacked again and again.
    if (packed > zip.fileSize) throw damaged('it claims to hold more than it does')
    if (entry.fileName.endsWith('/')) continue
    yield {
      name: entry.fileName,
      size: entry.uncompressedSize,
      packedSize: entry.compressedSize,
      offset: entry.relativeOffsetOfLocalHeader,
      method: entry.compressionMethod,
      crc: entry.crc32,
    }
  }
}

function requireReadable(entry: Entry): void {
  const name = quoted(entry.fileName)
  if (entry.isEncrypted())
    throw refusal(`has ${name} in it, which is encrypted: pack it without a password`)
  if (!entry.canDecodeFileData()) {
    throw refusal(
      `has ${name} in it, which is packed in a way that is not read here: use "deflate" or "store"`,
    )
  }
}

/** The facts about a file that the library needs. */
function entryOf({ name, size, packedSize, offset, method, crc }: PackedFile): Partial<Entry> {
  return {
    fileName: name,
    uncompressedSize: size,
    compressedSize: packedSize,
    relativeOffsetOfLocalHeader: offset,
    compressionMethod: method,
    crc32: crc,
    generalPurposeBitFlag: 0,
  }
}

async function* read(zip: ZipFile, entry: Entry, file: PackedFile): AsyncGenerator<Uint8Array> {
  const stream: Readable = await explained(zip.openReadStreamPromise(entry))
  let crc = 0
  try {
    for await (const chunk of stream) {
      const bytes = chunk as Uint8Array
      crc = crc32(bytes, crc)
      yield bytes
    }
  } catch (error) {
    throw explain(error)
  } finally {
    stream.destroy()
  }
  if (crc !== file.crc) throw damaged(`the bytes of ${quoted(file.name)} are not those packed`)
}

async function explained<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw explain(error)
  }
}

/** Errors of the file system are no faults of the zip. */
function explain(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof SatchelError || 'syscall' in error) return error
  if (/end of central directory/i.test(error.message)) return damaged('its end is missing')
  return damaged(quoted(error.message).slice(1, -1))
}

function damaged(problem: string): SatchelError {
  return refusal(`is damaged: ${problem}`)
}

function refusal(problem: string): SatchelError {
  return new SatchelError('INVALID_REQUEST', `The zip ${problem}`)
}
