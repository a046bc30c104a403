import { closeSync, constants, lstatSync, realpathSync, statSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import process from 'node:process'
import { UsageError } from '../config/config'
import { appendTo, createFile, syncDescriptor } from '../disk'
import { randomToken } from '../domain/value/id'
import { because } from '../net/system-error'
import type { Cli } from './command'

export interface Input {
  readonly bytes: ReadableStream<Uint8Array>
  /** In bytes, or null when unknown. */
  readonly size: number | null
}

/** A file, or standard input for `-`. Throws `UsageError` when there is none. */
export function openInput({ terminal }: Cli, path: string): Input {
  if (path === '-') return { bytes: terminal.input(), size: null }
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) throw new UsageError(`There is no file ${path}`)
  if (stats.isDirectory()) throw new UsageError(`${path} is a folder: give a file`)
  // The stream of Bun cannot wait for a device such as /dev/null, which is never ready.
  if (!stats.isFile()) return { bytes: readDevice(path), size: null }
  return { bytes: Bun.file(path).stream(), size: stats.size }
}

/** The text of a file, or of standard input for `-`. Throws `UsageError` when there is none. */
export async function readText(cli: Cli, path: string): Promise<string> {
  return await new Response(openInput(cli, path).bytes).text()
}

const DEVICE_BYTES = 64 * 1024

function readDevice(path: string): ReadableStream<Uint8Array> {
  let file: FileHandle | undefined
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      file ??= await open(path, 'r')
      const { bytesRead, buffer } = await file.read(Buffer.alloc(DEVICE_BYTES), 0, DEVICE_BYTES)
      if (bytesRead > 0) {
        controller.enqueue(buffer.subarray(0, bytesRead))
        return
      }
      await file.close()
      controller.close()
    },
    cancel: () => file?.close(),
  })
}

type Write = (bytes: Uint8Array) => Promise<void>

/**
 * Lets `work` write the file `path`, which appears, or replaces an older file, when it is complete.
 * A pipe or a device is written as it is. Throws `UsageError` when it cannot be written.
 */
export async function writeWhole<T>(path: string, work: (write: Write) => Promise<T>): Promise<T> {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats?.isDirectory()) throw new UsageError(`${path} is a folder: name a file in it`)
  if (stats !== undefined && !stats.isFile()) return await writeInto(path, work)
  return await writeBeside(targetOf(path), path, work)
}

async function writeInto<T>(path: string, work: (write: Write) => Promise<T>): Promise<T> {
  await using file = await explained(path, () => open(path, constants.O_WRONLY))
  return await work((bytes) => file.appendFile(bytes))
}

/** Replaces `target` by a rename, so that a reader never sees half of it. */
async function writeBeside<T>(
  target: string,
  path: string,
  work: (write: Write) => Promise<T>,
): Promise<T> {
  const draft = `${target}.${randomToken(9)}.part`
  using undo = new DisposableStack()
  const file = undo.adopt(await explained(path, async () => createFile(draft)), closeSync)
  try {
    const result = await work((bytes) => appendTo(file, bytes))
    await syncDescriptor(file)
    await rename(draft, target)
    return result
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}

/**
 * The file that a link leads to, which is replaced instead of the link. Throws `UsageError` for a
 * link of another user: in a folder like /tmp it may lead anywhere.
 */
function targetOf(path: string): string {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats === undefined || !stats.isSymbolicLink()) return path
  if (stats.uid !== 0 && stats.uid !== process.geteuid?.()) {
    throw new UsageError(`${path} is a link of another user: name another file`)
  }
  try {
    return realpathSync(path)
  } catch (error) {
    throw new UsageError(`${path} is a link to a file that does not exist`, { cause: error })
  }
}

async function explained<T>(path: string, opening: () => Promise<T>): Promise<T> {
  if (statSync(dirname(path), { throwIfNoEntry: false }) === undefined) {
    throw new UsageError(`There is no folder ${dirname(path)}`)
  }
  try {
    return await opening()
  } catch (error) {
    throw new UsageError(`${path} cannot be written${because(error)}`, { cause: error })
  }
}
