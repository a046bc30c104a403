import type { Row, Value, World } from '../../access/oracle-world'
import type { LocalOperation } from './device'

/**
 * The order of cause and effect in a history, and whether what anyone reads respects it (promise 46).
 *
 * Every write of a tracked path has a tag of its own. A client that shows a tag has observed the
 * transaction that wrote it, with everything that this one had observed. From then on nothing may
 * show it a value that was known to the writer of a later one: no lost update, no stale read, no
 * half of a transaction.
 */
export interface Causality {
  /** Begins a transaction of a client that has observed others. */
  begin(observed: bigint): number
  /** A value for a path of an object, written by a transaction. */
  tag(transaction: number, path: string): string
  /** The transaction writes values of others again. */
  rewrite(transaction: number, key: string, values: Value): void
  /** With a transaction and its past, what a client has observed. */
  with(observed: bigint, transaction: number): bigint
  /** What a client has observed, except for transactions of its own that it sends later. */
  without(observed: bigint, transactions: Iterable<number>): bigint
  /**
   * The server has executed a request: its objects before and after, and the keys of those that the
   * actor saw before and after.
   */
  executed(
    before: World,
    after: World,
    executed: readonly Executed[],
    seen: ReadonlySet<string>,
  ): void
  /** What a client shows; its own unsent transactions do not count. Gives all that it has observed. */
  observe(name: string, rows: Iterable<readonly [string, Value]>, view: Observer): bigint
  /** Everything that contradicts the order. */
  readonly complaints: readonly string[]
}

export interface Observer {
  readonly observed: bigint
  readonly unsent: ReadonlySet<number>
}

/** A transaction that the server executed and did not reject, for the first time. */
export interface Executed {
  readonly transaction: number
  readonly operations: readonly LocalOperation[]
}

/** The tracked paths of an object, and those whose values go with a write of them. */
const COVERED: Readonly<Record<string, readonly string[]>> = {
  title: ['title'],
  deep: ['deep', 'deep.x', 'deep.y'],
  'deep.x': ['deep.x'],
  'deep.y': ['deep.y'],
}

interface Tag {
  readonly transaction: number
  readonly path: string
}

export function createCausality(): Causality {
  /** What each transaction had observed, as a set of bits. */
  const pasts: bigint[] = []
  const tags = new Map<string, Tag>()
  /** The transactions that wrote a tag again, by key and tag. */
  const rewriters = new Map<string, number[]>()
  /** The tags that executed operations with criteria write. */
  const kept: string[] = []
  /** The transactions whose writes the server has shown, by key and path. */
  const effective = new Map<string, Set<number>>()
  const complaints: string[] = []

  const bit = (transaction: number) => 1n << BigInt(transaction)
  const isIn = (set: bigint, transaction: number) => (set & bit(transaction)) !== 0n
  const allSince = (transaction: number) => (pasts[transaction] ?? 0n) | bit(transaction)

  function note(key: string, path: string, transaction: number): void {
    for (const covered of COVERED[path] ?? []) {
      const name = `${key} ${covered}`
      const known = effective.get(name) ?? new Set()
      effective.set(name, known.add(transaction))
    }
  }

  /** Every writer of the value was known to the transaction. */
  function isBefore(key: string, text: string, transaction: number): boolean {
    const tag = tags.get(text)
    const past = pasts[transaction] ?? 0n
    if (tag === undefined || !isIn(past, tag.transaction)) return false
    return (rewriters.get(`${key} ${text}`) ?? []).every((one) => isIn(past, one))
  }

  /** Complains about each value that is older than one of these transactions. */
  function compare(name: string, key: string, value: Value, observed: bigint): void {
    for (const [path, text] of shownIn(value)) {
      for (const transaction of effective.get(`${key} ${path}`) ?? []) {
        if (!isIn(observed, transaction) || !isBefore(key, text, transaction)) continue
        complaints.push(
          `${name} shows ${key} ${path} = ${text}, which transaction ${transaction} has overwritten`,
        )
      }
    }
  }

  /** Notes the writes that the server shows now. */
  function noteShown(before: World, after: World, executed: readonly Executed[]): void {
    const old = new Map(rowsIn(before).map(({ key, value }) => [key, value]))
    for (const { key, value } of rowsIn(after)) {
      const earlier = new Map(shownIn(old.get(key) ?? {}))
      for (const [path, text] of shownIn(value)) {
        const tag = tags.get(text)
        if (tag === undefined || earlier.get(path) === text) continue
        const isReplayed = executed.every(({ transaction }) => transaction !== tag.transaction)
        if (!isReplayed) {
          note(key, tag.path, tag.transaction)
          continue
        }
        // An operation with criteria was applied to an object that came later (`replay`):
        // its own client has not seen that yet.
        for (const { transaction } of executed) addRewriter(key, text, transaction)
      }
    }
    const left = new Set(rowsIn(after).map(({ key }) => key))
    for (const key of old.keys()) {
      if (left.has(key)) continue
      // An earlier one by criteria may have left it.
      const removal = executed.findLast(({ operations }) =>
        operations.some((one) => removes(one, key)),
      )
      if (removal === undefined) continue
      for (const path of Object.keys(COVERED)) note(key, path, removal.transaction)
    }
  }

  function addRewriter(key: string, text: string, transaction: number): void {
    const name = `${key} ${text}`
    rewriters.set(name, [...(rewriters.get(name) ?? []), transaction])
  }

  /**
   * Operations with criteria that a transaction had not observed may have been applied to its objects,
   * and may have been seen there before a later transaction of the request (`replay`).
   */
  function noteReplays(executed: readonly Executed[]): void {
    for (const { transaction, operations } of executed) {
      for (const { table, type, keys, changeSpec } of operations) {
        if (table !== 'items' || type === 'delete') continue
        for (const text of kept) {
          const isKnown = isIn(allSince(transaction), tags.get(text)?.transaction ?? 0)
          if (!isKnown) for (const key of keys) addRewriter(key, text, transaction)
        }
        if (changeSpec !== undefined) kept.push(...textsIn(changeSpec))
      }
    }
  }

  /** The tags in a changeSpec, at whatever path. */
  function textsIn(value: unknown): readonly string[] {
    if (typeof value === 'string') return tags.has(value) ? [value] : []
    if (typeof value !== 'object' || value === null) return []
    return Object.values(value).flatMap(textsIn)
  }

  /** What a transaction wrote over values that it knew stands, unless somebody wrote meanwhile. */
  function lookForLost(
    after: World,
    executed: readonly Executed[],
    seen: ReadonlySet<string>,
  ): void {
    const all = executed.flatMap(({ operations }) => operations)
    if (all.some(isStructural)) return
    const now = new Map(rowsIn(after).map(({ key, value }) => [key, value]))
    for (const { transaction, operations } of executed) {
      for (const { table, type, keys, values = [], changeSpecs = [] } of operations) {
        if (table !== 'items' || type === 'modify' || type === 'delete') continue
        for (const [position, key] of keys.entries()) {
          const value = now.get(key)
          if (value === undefined || !seen.has(key)) continue
          const written = changeSpecs[position] ?? changeSpecs[0] ?? values[position] ?? {}
          for (const [path, text] of shownIn(value)) {
            if (!writes(written, path) || !isBefore(key, text, transaction)) continue
            complaints.push(
              `transaction ${transaction} was executed, and ${key} ${path} is still ${text}`,
            )
          }
        }
      }
    }
  }

  return {
    begin(observed) {
      pasts.push(observed)
      return pasts.length - 1
    },
    tag(transaction, path) {
      const text = `t${tags.size}`
      tags.set(text, { transaction, path })
      return text
    },
    rewrite(transaction, key, values) {
      for (const [, text] of shownIn(values)) {
        if (tags.get(text)?.transaction !== transaction) addRewriter(key, text, transaction)
      }
    },
    with: (observed, transaction) => observed | allSince(transaction),
    without(observed, transactions) {
      let rest = observed
      for (const transaction of transactions) rest &= ~bit(transaction)
      return rest
    },
    executed(before, after, executed, seen) {
      noteShown(before, after, executed)
      noteReplays(executed)
      lookForLost(after, executed, seen)
      const everything = (1n << BigInt(pasts.length)) - 1n
      for (const { key, value } of rowsIn(after)) compare('the server', key, value, everything)
    },
    observe(name, rows, { observed, unsent }) {
      let all = observed
      const shown: (readonly [string, Value])[] = []
      for (const row of rows) {
        shown.push(row)
        for (const [, text] of shownIn(row[1])) {
          const tag = tags.get(text)
          if (tag !== undefined && !unsent.has(tag.transaction)) all |= allSince(tag.transaction)
        }
      }
      for (const [key, value] of shown) {
        const confirmed = shownIn(value).filter(([, text]) => {
          const tag = tags.get(text)
          return tag !== undefined && !unsent.has(tag.transaction)
        })
        compare(name, key, objectOf(confirmed), all)
      }
      return all
    },
    complaints,
  }
}

/** The tags in an object, by path. */
function shownIn(value: Value): (readonly [path: string, tag: string])[] {
  const { title, deep } = value
  const shown: (readonly [string, string])[] = []
  if (typeof title === 'string') shown.push(['title', title])
  if (typeof deep === 'string') shown.push(['deep', deep])
  if (typeof deep !== 'object' || deep === null) return shown
  for (const name of ['x', 'y'] as const) {
    const inner = (deep as Value)[name]
    if (typeof inner === 'string') shown.push([`deep.${name}`, inner])
  }
  return shown
}

function objectOf(shown: readonly (readonly [path: string, tag: string])[]): Value {
  const value: Record<string, unknown> = {}
  const deep: Record<string, unknown> = {}
  for (const [path, text] of shown) {
    if (!path.startsWith('deep.')) value[path] = text
    else deep[path.slice('deep.'.length)] = text
  }
  return Object.keys(deep).length === 0 ? value : { ...value, deep }
}

function rowsIn({ rows }: World): readonly Row[] {
  return rows.filter(({ table }) => table === 'items')
}

function removes({ table, type, keys, criteria }: LocalOperation, key: string): boolean {
  if (table !== 'items' || type !== 'delete') return false
  const { index } = (criteria ?? {}) as { readonly index?: unknown }
  return keys.includes(key) || index !== undefined
}

/** An operation after which objects may be others than those that their client knew. */
function isStructural({ table, type, changeSpec, changeSpecs = [] }: LocalOperation): boolean {
  if (table === 'realms' || table === 'members') return true
  return (
    table === 'items' &&
    (type === 'delete' || [changeSpec, ...changeSpecs].some((one) => one?.['realmId']))
  )
}

/** The operation writes a tag to this path, or to one above it. */
function writes(written: Value, path: string): boolean {
  const [top = ''] = path.split('.')
  const isTag = (value: unknown) => typeof value === 'string' || typeof value === 'object'
  const isPropMod = (value: unknown) => JSON.stringify([value]).includes('@@propmod')
  return [path, top].some((name) => isTag(written[name]) && !isPropMod(written[name]))
}
