import { splitLines } from '../json/ndjson'
import { splitJson } from '../json/split'
import { isWireObject } from '../value/value'
import { type Entry, FILE, parsePart, type PartLimits, refuseAt, requireData } from './entry'
import { parseLine } from './line-file'

/** Where the objects of a plain file go; without a realm each object names its own. */
export interface Target {
  readonly table: string
  readonly realm: string | null
}

/** Reads a JSON array of objects of one table. Throws `INVALID_REQUEST` or `UNPROCESSABLE`. */
export async function* readArray(
  source: AsyncIterable<Uint8Array>,
  target: Target,
  limits: PartLimits,
): AsyncGenerator<Entry> {
  const enters = (path: readonly string[]) => path.length === 0
  for await (const part of splitJson(source, { name: FILE, maxBytes: limits.bytes, enters })) {
    const place = `[${part.path.join('.')}]`
    yield entryOf(parsePart(part.text, part, place, limits), place, target)
  }
}

/** Reads NDJSON, one object of one table per line. Throws `INVALID_REQUEST` or `UNPROCESSABLE`. */
export async function* readObjectLines(
  source: AsyncIterable<Uint8Array>,
  target: Target,
  limits: PartLimits,
): AsyncGenerator<Entry> {
  for await (const { line, text } of splitLines(source, { name: FILE, maxBytes: limits.bytes })) {
    const { object, place } = parseLine(line, text, limits)
    yield entryOf(object, place, target)
  }
}

function entryOf(value: unknown, place: string, { table, realm }: Target): Entry {
  const data = requireData(value, place)
  if (data === null) throw refuseAt(place, 'an object is expected')
  if (data['type'] === 'schema' && isWireObject(data['tables'])) {
    throw refuseAt(place, 'this begins an export, not a list of objects: leave out --table')
  }
  return { place, table, realm, id: null, data }
}
