import type { TimedObject, Tombstone } from '../store/objects'
import type { RealmRef } from '../store/realms'
import type { ReadTx } from '../store/store'
import { quoted } from '../value/error'
import { keyFromPath } from '../value/key'
import { unknownObject } from './object'
import { readStamps, type Stamp } from './stamps'
import { requireTable } from './tables'

/** Something that happened to an object, as far as it is still known: versions are not kept. */
export interface ObjectTrace {
  /** By the clock of the writer, ms; null where it is not known. */
  readonly at: number | null
  readonly revision: number
  /** A sentence. */
  readonly text: string
  /** The local database that wrote, and its user; null for other writers and forgotten ones. */
  readonly by: { readonly device: string; readonly userId: string } | null
}

/** So many properties are told apart: the ones that were written last. */
const MOST_PROPERTIES = 100

/**
 * The traces of an object, or of one that was removed, the latest last. `key` as in the path of an address. Throws
 * `UNKNOWN_TABLE`, `INVALID_REQUEST` and `UNKNOWN_OBJECT`.
 */
export function listTraces(tx: ReadTx, tableName: string, key: string): ObjectTrace[] {
  const table = requireTable(tx, tableName)
  const stored = keyFromPath(table, key)
  const object = tx.objects.findMany(table, [stored]).get(stored)
  const tombstone = tx.objects.findTombstone(table, stored)
  if (object === undefined && tombstone === undefined) throw unknownObject()
  const traces = object === undefined ? [] : tracesOfObject(tx, object)
  const gone = tombstone === undefined ? [] : [tracesOfTombstone(tx, tombstone, object)]
  return withTimes([...traces, ...gone]).toSorted(
    (one, other) => one.revision - other.revision || (one.at ?? 0) - (other.at ?? 0),
  )
}

/** The traces of a revision have one time: any of them that is known is that of all. */
function withTimes(traces: readonly ObjectTrace[]): ObjectTrace[] {
  const times = new Map(
    traces.flatMap(({ at, revision }) => (at === null ? [] : [[revision, at] as const])),
  )
  return traces.map((trace) => ({ ...trace, at: trace.at ?? times.get(trace.revision) ?? null }))
}

function tracesOfObject(tx: ReadTx, object: TimedObject): ObjectTrace[] {
  const { stamps, updated, revision, entered, realm } = object
  const { rest, properties } = readStamps(stamps, updated, revision)
  const [, born] = rest
  const written = [...properties].flatMap(([name, { own, below }]) => [
    ...(own === undefined ? [] : [[name, own] as const]),
    ...Array.from(below, ([inside, stamp]) => [`${name}.${inside}`, stamp] as const),
  ])
  const newest = written
    .toSorted(([, one], [, other]) => other[1] - one[1])
    .slice(0, MOST_PROPERTIES)
  const name = nameOf(tx, realm)
  return [
    traceOf(tx, rest, 'Was created'),
    ...(entered === born
      ? []
      : [{ at: null, revision: entered, text: `Came into the realm ${name}`, by: null }]),
    ...newest.map(([path, stamp]) => traceOf(tx, stamp, `${quoted(path)} was written`)),
    // Another trace of the revision says more.
    ...([rest, ...written.map(([, stamp]) => stamp)].some(([, last]) => last === revision)
      ? []
      : [{ at: updated, revision, text: 'Was written last', by: null }]),
  ]
}

function tracesOfTombstone(
  tx: ReadTx,
  { realm, revision, client }: Tombstone,
  object: TimedObject | undefined,
): ObjectTrace {
  const name = nameOf(tx, realm)
  const text = object === undefined ? `Was deleted in the realm ${name}` : `Left the realm ${name}`
  return { at: null, revision, text, by: writerOf(tx, client ?? 0) }
}

function traceOf(tx: ReadTx, [at, revision, client = 0]: Stamp, text: string): ObjectTrace {
  return { at, revision, text, by: writerOf(tx, client) }
}

function writerOf(tx: ReadTx, client: number): ObjectTrace['by'] {
  if (client === 0) return null
  const [found] = tx.syncClients.list(client - 1, 1)
  return found?.number === client ? { device: found.identity, userId: found.subject } : null
}

function nameOf(tx: ReadTx, realm: RealmRef): string {
  return quoted(tx.realms.findByRef(realm)?.id ?? 'that is gone')
}
