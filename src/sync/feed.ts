import { textPathsOf } from '../domain/object/draft'
import type { Change, ChunkSize } from '../domain/store/objects'
import type { RealmRef } from '../domain/store/realms'
import type { Commit, ReadTx } from '../domain/store/store'
import { changeMessage } from '../domain/sync/message'
import { withoutText } from '../domain/sync/text'
import { isPersonal, visibilityOf, hadMemberRow } from '../domain/sync/visible'
import { mentionsBlobs } from '../domain/value/blob'
import type { Declared } from './client-copy'
import { createFragments, type Fragment, type Part, sizeOf } from './fragments'
import { createCollector } from './garbage'
import type { Sight } from './sight'
import type { Caller, SocketClient } from './socket'
import { createTouches, type Range } from './touches'

/** The changes of a database for its sockets: recent ones are encoded once for all of them. */
export type Feed = ReturnType<typeof createFeed>

/** The client that changes are for. */
export interface Reader {
  /** Undefined: it gets nothing. */
  readonly caller: Caller | undefined
  readonly sight: Sight
  readonly client: SocketClient
  readonly declared: Declared
}

/** The most rows and characters of changes in a message: with more, a pull serves better. */
const MESSAGE: ChunkSize = { rows: 5_000, bytes: 1024 * 1024 }
/** The characters of a message in which values of `Y.Doc` properties are looked for. */
const MAX_SEARCHED = 64 * 1024

/** Encoded changes are kept up to so many characters. */
const MAX_KEPT_CHARACTERS = 4 * MESSAGE.bytes
/** Characters of messages: an import makes megabytes of them a second when many sockets are open. */
const COLLECT_AFTER_CHARACTERS = 12 * 1024 * 1024

const NOTHING = { parts: [], text: '' }

export function createFeed() {
  const collect = createCollector(COLLECT_AFTER_CHARACTERS)
  const fragments = createFragments(MAX_KEPT_CHARACTERS)
  let touches = createTouches(0)
  let isKnown = false
  /** Clients that were in step before get the same text. */
  let last: { readonly parts: readonly Part[]; readonly text: string } = NOTHING

  function partsFor(
    tx: ReadTx,
    reader: Reader,
    base: number,
    upTo: number,
  ): readonly Part[] | undefined {
    const { realms, invited } = reader.sight
    if (!touches.reaches(base)) return ownParts(tx, reader, [...realms, ...invited], base, upTo)
    const own = invited.filter((realm) => touches.after(realm, base) !== undefined)
    const parts: Part[] = []
    for (const realm of realms) {
      const range = touches.after(realm, base)
      if (range === undefined) continue
      const name = `${realm} ${range.after} ${range.upTo}`
      const fragment = fragments.find(name, () => load(tx, realm, range))
      if (fragment === undefined) return undefined
      if (fragment.isPartial) own.push(realm)
      else parts.push(...fragment.parts)
    }
    if (own.length === 0) return parts
    const rest = ownParts(tx, reader, own, base, upTo)
    return rest && [...parts, ...rest]
  }

  return {
    hear(commit: Commit) {
      touches.note(commit)
      // Tables may have been hidden.
      const isPolicy = commit.units.some(
        ({ realms, tables }) => realms.length + tables.length === 0,
      )
      if (isPolicy) fragments.clear()
    },
    /** Forgets everything: commits may have been missed. */
    restart() {
      isKnown = false
      fragments.clear()
    },
    /** Commits are heard from this revision on, unless they were before. */
    start(revision: number) {
      if (!isKnown) touches = createTouches(revision)
      isKnown = true
    },
    /**
     * The changes after `base` up to `upTo`, the revision of `tx`, as the `changes` of a message; undefined
     * when the client has to pull them: a message may not have them, or they are damaged (protocol.md §5.4).
     */
    changesFor(tx: ReadTx, reader: Reader, base: number, upTo: number): string | undefined {
      const parts = partsFor(tx, reader, base, upTo)
      if (parts === undefined || sizeOf(parts) > MESSAGE.bytes) return undefined
      const { tables } = reader.declared
      const own = tables === undefined ? parts : parts.filter(({ table }) => tables.has(table))
      const isSame =
        own.length === last.parts.length && own.every((part, at) => part === last.parts[at])
      if (!isSame) {
        last = { parts: own, text: join(own) }
        collect(last.text.length)
      }
      return isBeyond(reader, last.text) ? undefined : last.text
    },
    /** All sessions are up to date: frees the last text. */
    rest: () => void (last = NOTHING),
    /** Frees encoded changes that no session has asked for since the last call. */
    age: () => fragments.age(),
  }
}

/**
 * True for changes with blobs whose client gets their bytes from an answer to a pull, and for long ones
 * in which text would have to be found: answers are made in short steps.
 */
function isBeyond({ client, declared }: Reader, changes: string): boolean {
  if (declared.texts !== '' && changes.length > MAX_SEARCHED) return true
  return !client.knowsBlobRefs && mentionsBlobs(changes)
}

/** Changes in realms of which the user may not see everything, or from long ago. */
function ownParts(
  tx: ReadTx,
  { caller, sight }: Reader,
  realms: readonly RealmRef[],
  base: number,
  upTo: number,
): readonly Part[] | undefined {
  if (caller === undefined) return []
  const { changes, next } = tx.objects.changes(new Set(realms), base, upTo, MESSAGE)
  if (next !== undefined || hasDamage(changes)) return undefined
  const visibility = visibilityOf(tx, caller.actor)
  const seen: Change[] = []
  for (const change of changes) {
    const { table, realm, key, object } = change
    const isMember = sight.realms.includes(realm)
    // Here the user sees only their own rows of `members`.
    const isOwn = isPersonal(table, realm) || (table === 'members' && !isMember)
    if (object !== null && visibility.sees(table, realm, key)) {
      // A row that may be the user's own only now is sent whole.
      seen.push(isOwn ? { ...change, object: { ...object, entered: change.revision } } : change)
    } else if (!isOwn) {
      if (object === null && isMember) seen.push(change)
    } else if (object === null || object.entered <= base) {
      if (hadMemberRow(tx, caller.actor, key)) seen.push({ ...change, object: null })
    }
  }
  return encode(tx, seen, base)
}

function load(tx: ReadTx, realm: RealmRef, { after, upTo }: Range): Fragment | undefined {
  const { changes, next } = tx.objects.changes(new Set([realm]), after, upTo, MESSAGE)
  if (next !== undefined || hasDamage(changes)) return undefined
  const isPartial = changes.some(({ table }) => isPersonal(table, realm))
  return { isPartial, parts: isPartial ? [] : encode(tx, changes, after) }
}

/** An answer to a pull leaves damaged rows out, and says so in the log. */
function hasDamage(changes: readonly Change[]): boolean {
  return changes.some(({ object }) => object?.isDamaged === true)
}

/** Encodes changes for clients that had all of them up to `base`, without those of hidden tables. */
function encode(tx: ReadTx, changes: readonly Change[], base: number): readonly Part[] {
  const groups = Map.groupBy(changes, ({ table, object }) => `${object === null} ${table}`)
  const parts: Part[] = []
  for (const group of groups.values()) {
    const [first] = group
    const table = first?.table ?? ''
    const declared = tx.tables.find(table)
    if (declared === undefined || declared.hidden) continue
    const message = changeMessage(group, base)
    const paths = textPathsOf(declared)
    const text =
      paths.length === 0 ? message : withoutText(message, new Map([[table, new Set(paths)]]))
    // A row that was written with the values it had is no change.
    if (text !== '') parts.push({ table, isRemoval: first?.object === null, text })
  }
  return parts
}

/** Removals come first: an object that moved leaves one realm before it arrives in another. */
function join(parts: readonly Part[]): string {
  const removals = parts.filter(({ isRemoval }) => isRemoval)
  const others = parts.filter(({ isRemoval }) => !isRemoval)
  return [...removals, ...others].map(({ text }) => text).join(',')
}
