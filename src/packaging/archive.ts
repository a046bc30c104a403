import { gzipSync } from 'node:zlib'

/** A file of an archive. */
export interface ArchivedFile {
  readonly path: string
  readonly content: Uint8Array
  readonly isExecutable?: boolean
}

const BLOCK = 512

/** A `.tar.gz` of these files, which belong to root and are of `time` (seconds): the same bytes from the same files. */
export function tarball(files: readonly ArchivedFile[], time: number): Uint8Array {
  const blocks = files.flatMap(({ path, content, isExecutable = false }) => [
    header(path, content.length, isExecutable ? 0o755 : 0o644, time),
    content,
    new Uint8Array((BLOCK - (content.length % BLOCK)) % BLOCK),
  ])
  // Two empty blocks are the end.
  return gzipSync(Buffer.concat([...blocks, new Uint8Array(2 * BLOCK)]), { level: 9 })
}

/** The fields of POSIX (ustar) at their offsets. Throws when the path is too long for them. */
function header(path: string, size: number, mode: number, time: number): Uint8Array {
  if (path.length > 100) throw new Error(`The path ${path} is too long for an archive`)
  const block = Buffer.alloc(BLOCK)
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0')
  block.write(path, 0)
  block.write(octal(mode, 7), 100)
  block.write(octal(0, 7), 108)
  block.write(octal(0, 7), 116)
  block.write(octal(size, 11), 124)
  block.write(octal(time, 11), 136)
  block.write(' '.repeat(8), 148)
  block.write('0', 156)
  block.write('ustar\u000000', 257)
  block.write('root', 265)
  block.write('root', 297)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${octal(sum, 6)}\0 `, 148)
  return block
}
