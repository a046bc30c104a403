import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { hashOf } from '../contract/content-fixture'

/** The files with the bytes of blobs below a folder, by the hash of their content. */
export function filesByHash(folder: string): Map<string, string[]> {
  const files = new Map<string, string[]>()
  if (!existsSync(folder)) return files
  for (const name of readdirSync(folder).toSorted()) {
    if (name === 'incoming') continue
    const path = join(folder, name)
    const hash = hashOf(readFileSync(path))
    files.set(hash, [...(files.get(hash) ?? []), path])
  }
  return files
}

/** The only file with this content. */
export function fileWith(folder: string, content: string | Uint8Array): string {
  const [file, ...others] = filesByHash(folder).get(hashOf(content)) ?? []
  if (file === undefined || others.length > 0) throw new Error('not exactly one file')
  return file
}
