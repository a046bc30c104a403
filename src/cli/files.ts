import { statSync } from 'node:fs'
import { UsageError } from '../config'
import type { Cli } from './command'

/** The bytes of a file, or of standard input for `-`. Throws `UsageError` when there is none. */
export function openInput({ terminal }: Cli, path: string): ReadableStream<Uint8Array> {
  if (path === '-') return terminal.input()
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) throw new UsageError(`There is no file ${path}`)
  if (stats.isDirectory()) throw new UsageError(`${path} is a folder, a file is needed`)
  return Bun.file(path).stream()
}
