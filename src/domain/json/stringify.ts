import { nextTurn } from '../value/turn'
import { SLICE } from './slices'

/**
 * `JSON.stringify` of a value of JSON: at once where it is short, otherwise in slices, between which others
 * get a turn. A single long string is one slice.
 */
export function stringifyInSlices(value: unknown, slice = SLICE): Promise<string> | string {
  return roomAfter(value, slice) < 0 ? joinPieces(value, slice) : JSON.stringify(value)
}

async function joinPieces(value: unknown, slice: number): Promise<string> {
  let text = ''
  let made = 0
  for (const piece of piecesOf(value, slice)) {
    text += piece
    made += piece.length
    if (made < slice) continue
    await nextTurn()
    made = 0
  }
  return text
}

/** The text in pieces, none of which is much longer than a slice. */
function* piecesOf(value: unknown, slice: number): Generator<string> {
  const isWhole = typeof value !== 'object' || value === null || roomAfter(value, slice) >= 0
  if (isWhole) yield JSON.stringify(value)
  else if (Array.isArray(value)) yield* piecesOfArray(value, slice)
  else yield* piecesOfObject(value, slice)
}

/** Runs of short elements are one piece. */
function* piecesOfArray(elements: readonly unknown[], slice: number): Generator<string> {
  let before = ''
  yield '['
  let from = 0
  let room = slice
  for (const [at, element] of elements.entries()) {
    const left = roomAfter(element, room)
    if (left >= 0) {
      room = left
      continue
    }
    if (at > from) {
      yield before + JSON.stringify(elements.slice(from, at)).slice(1, -1)
      before = ','
    }
    room = roomAfter(element, slice)
    from = at
    if (room >= 0) continue
    yield before
    yield* piecesOf(element, slice)
    before = ','
    from = at + 1
    room = slice
  }
  if (from < elements.length) yield before + JSON.stringify(elements.slice(from)).slice(1, -1)
  yield ']'
}

function* piecesOfObject(object: object, slice: number): Generator<string> {
  let before = ''
  yield '{'
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined) continue
    yield `${before}${JSON.stringify(name)}:`
    yield* piecesOf(value, slice)
    before = ','
  }
  yield '}'
}

/** The room left behind a value, in characters; less than 0 when the value is longer than `room`. */
function roomAfter(value: unknown, room: number): number {
  if (typeof value === 'string') return room - value.length - 3
  if (typeof value !== 'object' || value === null) return room - 5
  let left = room - 2
  if (Array.isArray(value)) {
    for (const element of value) {
      left = roomAfter(element, left)
      if (left < 0) break
    }
    return left
  }
  for (const name of Object.keys(value)) {
    left = roomAfter((value as Record<string, unknown>)[name], left - name.length - 3)
    if (left < 0) break
  }
  return left
}
