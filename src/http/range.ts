/** Bytes from `begin` up to before `end`. */
export interface ByteRange {
  readonly begin: number
  readonly end: number
}

/** More than a reader of documents asks for, and fewer than are worth an attack. */
const MOST_RANGES = 32

/**
 * The ranges that a `Range` header names in `size` bytes, in its order (RFC 9110 §14). `whole`: it is
 * to be ignored, because it is malformed, of another unit, or asks for more than there is all in all.
 */
export function parseRanges(
  header: string,
  size: number,
): readonly ByteRange[] | 'whole' | 'unsatisfiable' {
  const [, list] = /^\s*bytes\s*=(.*)$/i.exec(header) ?? []
  const texts = (list ?? '').split(',').map((text) => text.trim())
  const named = texts.filter((text) => text !== '')
  if (named.length === 0 || texts.length > MOST_RANGES) return 'whole'
  const ranges = named.map((text) => parseRange(text, size))
  if (!ranges.every((range) => range !== undefined)) return 'whole'
  const within = ranges.filter(({ begin, end }) => begin < end)
  if (within.length === 0) return 'unsatisfiable'
  const total = within.reduce((sum, { begin, end }) => sum + end - begin, 0)
  return total > size ? 'whole' : within
}

/** Empty when nothing of it is there; undefined when it is malformed. */
function parseRange(text: string, size: number): ByteRange | undefined {
  const [, first, last] = /^(\d*)\s*-\s*(\d*)$/.exec(text) ?? []
  if (first === undefined || last === undefined || first + last === '') return undefined
  if (first === '') return { begin: Math.max(0, size - Number(last)), end: size }
  if (last !== '' && Number(last) < Number(first)) return undefined
  return { begin: Number(first), end: last === '' ? size : Math.min(size, Number(last) + 1) }
}
