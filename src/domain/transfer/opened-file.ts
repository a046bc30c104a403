import type { Archive } from './archive'
import { SatchelError } from '../value/error'
import { readArchive } from './archive-items'
import { type ArchiveFiles, findFiles } from './archive-files'
import type { Item, PartLimits } from './entry'
import { type Glanced, glance } from './format'
import { inBites, readItems } from './items'
import type { Target } from './plain-file'
import type { ScratchWriter } from '../store/scratch'
import type { Site } from './site'

/** A file that is to be imported. */
export interface OpenedFile extends AsyncDisposable {
  /** What it tells; read once. */
  readonly items: AsyncIterable<Item>
  /** Where the bytes of its blobs come from, if it is an archive. */
  readonly archive: OpenedArchive | undefined
}

export interface OpenedArchive {
  readonly archive: Archive
  readonly files: ArchiveFiles
  /** The copy in the folder of the database that it is read from. */
  readonly scratch: ScratchWriter
}

/** How a file is read. */
export interface Opening {
  readonly target: Target | null
  readonly limits: PartLimits
  /** Told the bytes as they come. */
  readonly count: (bytes: number) => void
}

/**
 * Finds out what a file is. An archive is copied first: it is read by the directory at its end, and
 * again by the job that applies it. Throws `INVALID_REQUEST` for what is no import file.
 */
export async function openFile(
  site: Site,
  file: AsyncIterable<Uint8Array>,
  { target, limits, count }: Opening,
): Promise<OpenedFile> {
  const glanced = await glance(inBites(file, count))
  if (!site.archives.isArchive(glanced.beginning)) {
    return {
      items: readItems(glanced, target, limits),
      archive: undefined,
      async [Symbol.asyncDispose]() {},
    }
  }
  if (target !== null) {
    throw new SatchelError(
      'INVALID_REQUEST',
      'The file is a zip, which names tables and realms itself: leave out --table',
    )
  }
  return await openArchive(site, glanced, limits)
}

async function openArchive(
  site: Site,
  { source }: Glanced,
  limits: PartLimits,
): Promise<OpenedFile> {
  await using undo = new AsyncDisposableStack()
  const scratch = undo.use(await site.scratch.create('zip'))
  for await (const bytes of source) await scratch.write(bytes)
  await scratch.finish()
  const archive = undo.use(await site.archives.open(await site.scratch.open(scratch.name)))
  const files = await findFiles(archive)
  const parts = undo.move()
  return {
    items: readArchive(archive, files, limits),
    archive: { archive, files, scratch },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}
