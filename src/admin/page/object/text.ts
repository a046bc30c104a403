import type { Steps } from '../parts/slices'
import { visible } from '../parts/visible'

/** So many values are written in one step, and so many characters. */
const STEP = 2_000
const PIECE = 64 * 1024

/** A list or an object that is being written. */
interface Open {
  readonly value: object
  /** The names of an object; null: a list. */
  readonly names: readonly string[] | null
  readonly count: number
  next: number
}

/** The text that is edited, as `JSON.stringify` writes it; characters that are not seen are escaped. */
export function* textSteps(value: unknown): Steps<string> {
  const pieces: string[] = []
  let piece = ''
  let steps = 0
  const open: Open[] = []
  const put = (text: string) => {
    piece += text
    if (piece.length < PIECE) return
    pieces.push(piece)
    piece = ''
  }
  const begin = (each: unknown) => {
    if (typeof each !== 'object' || each === null) return put(visible(JSON.stringify(each)))
    const names = Array.isArray(each) ? null : Object.keys(each)
    const count = names === null ? (each as readonly unknown[]).length : names.length
    const [left, right] = names === null ? '[]' : '{}'
    if (count === 0) return put(`${left}${right}`)
    put(left ?? '')
    open.push({ value: each, names, count, next: 0 })
  }
  begin(value)
  for (;;) {
    const inner = open.at(-1)
    if (inner === undefined) break
    const { names, count, next } = inner
    if (next === count) {
      open.pop()
      put(`\n${'  '.repeat(open.length)}${names === null ? ']' : '}'}`)
      continue
    }
    inner.next += 1
    put(`${next === 0 ? '' : ','}\n${'  '.repeat(open.length)}`)
    const name = names?.[next]
    if (name !== undefined) put(`${visible(JSON.stringify(name))}: `)
    begin((inner.value as Readonly<Record<string, unknown>>)[name ?? next])
    steps += 1
    if (steps % STEP === 0) yield
  }
  pieces.push(piece)
  return pieces.join('')
}
