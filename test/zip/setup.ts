import { open } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { createDiskScratch } from '../../src/blobs/disk/scratch'
import type { ScratchFile } from '../../src/domain/store/scratch'
import { createZip } from '../../src/zip/writer'
import { openZip } from '../../src/zip/reader'
import { createTestClock } from '../auth/setup'
import { cut } from '../domain/chunks'

/** The content of a packed file: a text, or bytes in several pieces. */
export interface Given {
  readonly name: string
  readonly content: string | Buffer | AsyncIterable<Uint8Array>
  readonly compress?: boolean
  readonly size?: number
}

export const NOON = Date.UTC(2026, 0, 31, 12, 0, 2)

/** Makes a zip of these files, leaving holes in the file where there are only zeros. */
export async function makeZip(folder: string, files: readonly Given[]): Promise<string> {
  const path = join(folder, 'made.zip')
  await using file = await open(path, 'w')
  let position = 0
  let small: Uint8Array[] = []
  async function flush(): Promise<void> {
    const bytes = Buffer.concat(small)
    small = []
    await file.write(bytes, 0, bytes.length, position)
    position += bytes.length
  }
  for await (const bytes of zipOf(files)) {
    if (bytes.length >= 1_000_000 && bytes[0] === 0) {
      await flush()
      position += bytes.length
    } else if (small.push(Buffer.from(bytes)) === 1_000) await flush()
  }
  await flush()
  return path
}

async function* zipOf(files: readonly Given[]): AsyncGenerator<Uint8Array> {
  const zip = createZip(NOON)
  for (const { name, content, compress = false, size } of files) {
    const bytes =
      typeof content === 'string' || Buffer.isBuffer(content) ? cut(content, 1000) : content
    yield* zip.add(name, bytes, { compress, ...(size === undefined ? {} : { size }) })
  }
  yield* zip.finish()
}

/** An existing file as a zip is read from. */
export function fileAt(path: string): Promise<ScratchFile> {
  return createDiskScratch(dirname(path), createTestClock()).open(basename(path))
}

/** The names in a zip and what unpacks from each, read as an import reads them. */
export async function readZip(path: string): Promise<Record<string, string>> {
  const texts: Record<string, string> = {}
  await using zip = await openZip(await fileAt(path))
  for await (const file of zip.list()) {
    const chunks = await Array.fromAsync(zip.open(file))
    texts[file.name] = Buffer.concat(chunks).toString()
  }
  return texts
}
