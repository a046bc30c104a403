import { SatchelError } from '../value/error'
import { NEWLINE, RETURN } from './bytes'
import { decodeUtf8 } from './scan'

export interface Line {
  /** From 1, blank lines counted. */
  readonly line: number
  readonly text: string
}

export interface LineRules {
  /** The name of the file in a refusal. */
  readonly name: string
  /** The longest line, in bytes without its end; 16 MiB unless given. */
  readonly maxBytes?: number
}

/**
 * Splits a file of any size into its lines, in constant memory, leaving out blank ones. Lines end
 * with LF or CR LF, the last one may just end. Throws `INVALID_REQUEST` for a line that is not
 * UTF-8 and `PAYLOAD_TOO_LARGE` for one that is too long.
 */
export async function* splitLines(
  source: AsyncIterable<Uint8Array>,
  rules: LineRules,
): AsyncGenerator<Line, void, undefined> {
  const maxBytes = rules.maxBytes ?? 16 * 2 ** 20
  let line = 0
  let pieces: Uint8Array[] = []
  let size = 0

  for await (const chunk of source) {
    let start = 0
    for (;;) {
      const newline = chunk.indexOf(NEWLINE, start)
      const end = newline < 0 ? chunk.length : newline
      size += end - start
      // One byte more may turn out to be the CR of the line's end.
      if (size > maxBytes + 1) throw tooLong()
      if (newline < 0) break
      const finished = finish(chunk.subarray(start, end))
      if (finished !== undefined) yield finished
      start = newline + 1
    }
    if (start < chunk.length) pieces.push(chunk.slice(start))
  }
  const last = finish(new Uint8Array())
  if (last !== undefined) yield last

  function finish(tail: Uint8Array): Line | undefined {
    const bytes = pieces.length === 0 ? tail : Buffer.concat([...pieces, tail])
    pieces = []
    size = 0
    line++
    const ending = bytes.at(-1) === RETURN ? 1 : 0
    if (bytes.length - ending > maxBytes) throw tooLong(line)
    const content = bytes.subarray(0, bytes.length - ending)
    const text = decodeUtf8(content, { name: rules.name, start: { line, column: 1 } })
    return text.trim() === '' ? undefined : { line, text }
  }

  function tooLong(at = line + 1): SatchelError {
    return new SatchelError(
      'PAYLOAD_TOO_LARGE',
      `${rules.name} has a line of more than ${maxBytes} bytes: line ${at}`,
    )
  }
}
