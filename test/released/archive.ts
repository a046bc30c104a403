import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** A packed folder: the bytes of its files in base64 by their paths, and what the folder says. */
interface Archive<Facts> {
  readonly facts: Facts
  readonly files: Readonly<Record<string, string>>
}

/** Packs a data folder that no process has open, with the expectations of it. */
export async function pack(folder: string, facts: object): Promise<Uint8Array> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !NO_DATA.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
    .map((file) => [relative(folder, file), readFileSync(file).toString('base64')] as const)
  const archive: Archive<object> = { facts, files: Object.fromEntries(files) }
  return await Bun.zstdCompress(JSON.stringify(archive), { level: 19 })
}

const NO_DATA = /^(?:lock\.sqlite.*|holder\.json|control\.sock)$/

/** Writes the files of an archive to a folder, and returns the expectations of it. */
export async function unpack<Facts>(bytes: Uint8Array, folder: string): Promise<Facts> {
  const text = (await Bun.zstdDecompress(bytes)).toString()
  const { facts, files } = JSON.parse(text) as Archive<Facts>
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(file, Buffer.from(content, 'base64'), { mode: 0o600 })
  }
  return facts
}
