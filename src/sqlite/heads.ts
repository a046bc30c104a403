import type { RealmRef } from '../domain/store/realms'
import type { Connection } from './connection'
import type { realmMoves } from './schema'

/** How many realms one row of `realm_moves` has. */
const REALMS_PER_ROW = 1_000
/** How many realms the rows of `realm_moves` have before the oldest are folded into `realm_ids`. */
const MAX_LOGGED_REALMS = 10_000
/** How many of them one commit folds: others wait for it. */
const REALMS_PER_FOLD = 2_000
/** How many realms are kept in memory. */
const REALMS_IN_MEMORY = 200_000
/** How many units are kept with the realms that they moved, and how many realms each of them may have. */
const KEPT_UNITS = 1_000
const REALMS_PER_UNIT = 100

/** The realms that a unit has moved, and the tables in which it changed or removed objects. */
interface Moves {
  readonly revision: number
  readonly realms: readonly RealmRef[]
  readonly tables: readonly string[]
}

/**
 * The heads of realms: the newest revision of each. A commit that moves a hundred realms would change
 * a hundred rows of `realm_ids`, each on a page of its own, so it adds them to the log `realm_moves` in
 * one row. The log is folded into `realm_ids` when it has grown; memory has at least what is in it.
 */
export class Heads {
  /** The last revision of each realm that moved after `#since`, in the order of the revisions. */
  readonly #recent = new Map<RealmRef, number>()
  #since: number
  /** How many realms the log names. */
  #logged = 0
  /** The newest revision of each table, by name; of the others none is newer than `#opened`. */
  readonly #tables = new Map<string, number>()
  readonly #opened: number
  /** No tombstone is newer than this revision. */
  #tombstones: number
  /** The latest units, by revisions that follow one another. */
  #units: Pick<Moves, 'revision' | 'realms'>[] = []

  /** `revision`: the newest one of the database. */
  constructor(connection: Connection, revision: number) {
    const rows = connection.prepare<MoveRow>(`${SELECT} ORDER BY number`).all()
    this.#opened = revision
    this.#tombstones = revision
    this.#since = rows[0] === undefined ? revision : rows[0].revision - 1
    for (const row of rows) {
      const realms = realmsOf(row)
      this.#logged += realms.length
      this.#note(realms, row.revision)
    }
  }

  /** Adds the realms of a commit to the log, inside its transaction. Returns how many it then names. */
  log(connection: Connection, units: readonly Moves[]): number {
    const realms = [...new Set(units.flatMap((unit) => unit.realms))]
    const revision = units.at(-1)?.revision ?? 0
    const insert = connection.prepare('INSERT INTO realm_moves (revision, realms) VALUES (?, ?)')
    for (let start = 0; start < realms.length; start += REALMS_PER_ROW) {
      insert.run(revision, JSON.stringify(realms.slice(start, start + REALMS_PER_ROW)))
    }
    const logged = this.#logged + realms.length
    return logged > MAX_LOGGED_REALMS ? logged - fold(connection) : logged
  }

  /**
   * Makes the moves of a commit known, right after it. `logged` is the result of `log`;
   * `hasTombstones`: one of its units may have written a tombstone.
   */
  publish(units: readonly Moves[], logged: number, hasTombstones: boolean): void {
    this.#logged = logged
    for (const { realms, tables, revision } of units) {
      this.#note(realms, revision)
      for (const table of tables) this.#tables.set(table, revision)
      this.#keep(realms, revision)
    }
    if (hasTombstones) this.#tombstones = units.at(-1)?.revision ?? this.#tombstones
  }

  /** False when no object of the table was put or removed in this revision or later. */
  mayHaveMoved(table: string, revision: number): boolean {
    return (this.#tables.get(table) ?? this.#opened) >= revision
  }

  /** False when no tombstone was written in this revision or later. */
  mayHaveTombstones(revision: number): boolean {
    return this.#tombstones >= revision
  }

  /** Every one of these realms that moved in this revision or later, and some that moved earlier. */
  moved(
    connection: Connection,
    realms: ReadonlySet<RealmRef>,
    revision: number,
  ): ReadonlySet<RealmRef> {
    const moved = new Set<RealmRef>()
    if (this.#recent.size < realms.size) {
      for (const [realm, head] of this.#recent) {
        if (head >= revision && realms.has(realm)) moved.add(realm)
      }
    } else {
      for (const realm of realms) {
        if ((this.#recent.get(realm) ?? 0) >= revision) moved.add(realm)
      }
    }
    if (revision > this.#since) return moved
    const stored = connection
      .prepare(
        `SELECT number FROM json_each(?1) CROSS JOIN realm_ids ON number = value WHERE head >= ?2`,
      )
      .values(JSON.stringify([...realms]), revision) as [RealmRef][]
    for (const [realm] of stored) moved.add(realm)
    return moved
  }

  /** As `ObjectReader.realmsMoved`, for committed revisions. */
  movedBesides(
    realms: ReadonlySet<RealmRef>,
    after: number,
    upTo: number,
    except: ReadonlySet<number>,
  ): ReadonlySet<RealmRef> | undefined {
    if (upTo <= after) return new Set()
    const first = this.#units[0]?.revision ?? Infinity
    const last = first + this.#units.length - 1
    if (after + 1 < first || upTo > last) return undefined
    const moved = new Set<RealmRef>()
    for (let at = after + 1 - first; at <= upTo - first; at += 1) {
      const unit = this.#units[at]!
      if (except.has(unit.revision)) continue
      for (const realm of unit.realms) if (realms.has(realm)) moved.add(realm)
    }
    return moved
  }

  #keep(realms: readonly RealmRef[], revision: number): void {
    const units = this.#units
    const follows = units.at(-1)?.revision === revision - 1
    if (realms.length > REALMS_PER_UNIT || !follows) this.#units = []
    if (realms.length > REALMS_PER_UNIT) return
    this.#units.push({ revision, realms })
    // In one go, so that a commit costs nothing to drop.
    if (this.#units.length > 2 * KEPT_UNITS) this.#units = this.#units.slice(-KEPT_UNITS)
  }

  #note(realms: readonly RealmRef[], revision: number): void {
    for (const realm of realms) {
      // The realm becomes the last one.
      this.#recent.delete(realm)
      this.#recent.set(realm, revision)
    }
    // The newest ones, as many as the log names, are not in `realm_ids` yet.
    if (this.#recent.size <= this.#logged + REALMS_IN_MEMORY) return
    for (const [realm, head] of this.#recent) {
      if (this.#recent.size <= this.#logged + REALMS_IN_MEMORY / 2) break
      this.#recent.delete(realm)
      this.#since = head
    }
  }
}

type MoveRow = typeof realmMoves.$inferSelect

const SELECT = 'SELECT number, revision, realms FROM realm_moves'

function realmsOf({ realms }: MoveRow): RealmRef[] {
  return JSON.parse(realms) as RealmRef[]
}

/** Moves the oldest rows of the log into `realm_ids`. Returns how many realms they named. */
function fold(connection: Connection): number {
  const heads = new Map<RealmRef, number>()
  let folded = 0
  let last = 0
  const rows = connection.prepare<MoveRow>(`${SELECT} ORDER BY number LIMIT ?`).all(REALMS_PER_FOLD)
  for (const row of rows) {
    if (folded >= REALMS_PER_FOLD) break
    const realms = realmsOf(row)
    for (const realm of realms) heads.set(realm, row.revision)
    folded += realms.length
    last = row.number
  }
  // In the order of their pages.
  const update = connection.prepare('UPDATE realm_ids SET head = ? WHERE number = ?')
  for (const realm of [...heads.keys()].toSorted((one, other) => one - other)) {
    update.run(heads.get(realm) ?? 0, realm)
  }
  connection.prepare('DELETE FROM realm_moves WHERE number <= ?').run(last)
  return folded
}
