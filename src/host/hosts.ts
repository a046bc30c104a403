import { quoted, SatchelError } from '../domain/value/error'
import type { Database, ReadTx, Store } from '../domain/store/store'
import { type ProgramPart, handlesOf, type Through } from './program-part'
import type { OpenDatabase, OpenParts } from './host'
import { MINUTE, SECOND } from '../domain/value/time'

/** The databases of a store, opened on demand and kept in a bounded cache (design.md §2). */
export interface AllHosts extends AsyncDisposable {
  /** The databases as a part of the program has them. */
  at(part: ProgramPart): Hosts
}

/** The databases for one part of the program. */
export interface Hosts {
  /** The names of the databases, sorted. */
  list(): Promise<string[]>
  /** The host if it is open, which is enough for all requests but the first. */
  findOpen(name: string): OpenDatabase | undefined
  /** Throws `UNKNOWN_DATABASE`. */
  open(name: string): Promise<OpenDatabase>
  /**
   * `open` for a request, which does not wait long: throws `BUSY` while the file is migrated, for
   * instance.
   */
  openSoon(name: string): Promise<OpenDatabase>
  /** Opens the host and keeps it open until disposed: for work that may take minutes. */
  hold(name: string): Promise<HeldHost>
  /**
   * Throws `CONFLICT` when the name is taken, `UNPROCESSABLE` when it is not a database name. Nothing
   * is left of a database that cannot be opened.
   */
  create(name: string): Promise<OpenDatabase>
  /** Gives a copied database an identity of its own, as `Store.adopt` says, and opens it. */
  adopt(name: string): Promise<OpenDatabase>
  /** Opens the database that `make` makes. */
  make(name: string, make: () => Promise<void>): Promise<OpenDatabase>
  /**
   * Closes the database while `work` runs and opens it again. Live connections are closed: their clients
   * come back as after a restart.
   */
  reopen(name: string, work: () => Promise<void>): Promise<OpenDatabase>
  /** Closes the live connections of a database. */
  disconnect(name: string): void
  /** Closes the database and removes all its data. Throws `UNKNOWN_DATABASE`. */
  remove(name: string): Promise<void>
  /** Opens the database and runs the jobs that an earlier process did not finish. */
  resume(name: string): Promise<void>
  /**
   * Resumes one database after the other, so that requests are answered meanwhile; one with long jobs does
   * not hold up the next. `failed` is called for each that cannot be opened.
   */
  resumeAll(names: readonly string[], failed: (name: string, error: unknown) => void): Promise<void>
  /** From now on tells `watcher` of each host that is opened, before anything else uses it. */
  watch(watcher: HostWatcher): void
  /** Reads each open database, which is no use that keeps it open. Those that fail are left out. */
  survey<T>(work: (tx: ReadTx, name: string) => T): Promise<T[]>
  /** Throws when one of the open databases does not answer. This is no use that keeps it open. */
  check(): Promise<void>
}

export interface HostWatcher {
  opened(host: OpenDatabase): void
  /** The live connections of this database are to be closed: their clients come back. */
  disconnected(name: string): void
  /** The database with this name is gone. */
  removed(name: string): void
}

export interface HeldHost extends Disposable {
  readonly opened: OpenDatabase
}

export interface HostsOptions {
  readonly store: Store
  /** Opens a host, which closes the database when it is disposed. Closes it also if opening fails. */
  open(through: Through): Promise<OpenParts>
  /** How many databases stay open although they are idle. */
  readonly kept?: number
  /** How often to look for databases to close, ms. */
  readonly sweepEvery?: number
  /** How long a request waits for a database to open, ms. */
  readonly openWithin?: number
  /** How long the jobs of one database may hold up those of the next, ms. */
  readonly resumeWithin?: number
}

interface Entry {
  readonly host: OpenParts
  /** The host as the parts of the program have it that have asked for it. */
  readonly views: Partial<Record<ProgramPart, OpenDatabase>>
  /** What the host uses, without counting it as use. */
  readonly database: Database
  readonly use: Use
}

interface Use {
  /** Reads and writes so far. */
  count: number
  /** The number of the sweep before the last of them. */
  sweep: number
  /** How many callers hold it open. */
  holders: number
}

/** A database used within the last two sweeps stays open: a long answer may be on its way. */
const QUIET_SWEEPS = 2

export function createHosts(options: HostsOptions): AllHosts {
  const { store, kept = 64, sweepEvery = MINUTE, resumeWithin = SECOND } = options
  const { openWithin = 5 * SECOND } = options
  const entries = new Map<string, Entry>()
  const busy = new Map<string, Promise<unknown>>()
  const watchers: { readonly part: ProgramPart; readonly watcher: HostWatcher }[] = []
  let sweeps = 0
  let isClosing = false
  const timer = setInterval(() => void sweep(), sweepEvery)
  timer.unref()

  /** Opening, closing and removing one database happen one after the other. */
  function inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (isClosing) return Promise.reject(stopping())
    const turn = (busy.get(name) ?? Promise.resolve()).then(work, work)
    busy.set(name, turn)
    const leave = () => {
      if (busy.get(name) === turn) busy.delete(name)
    }
    turn.then(leave, leave)
    return turn
  }

  async function resume(name: string): Promise<void> {
    const {
      host: { jobs, blobKeeper },
      use,
    } = await open(name)
    await jobs.idle()
    await blobKeeper.collect()
    const { count } = use
    if (entries.size <= kept) return
    await inTurn(name, async () => {
      if (use.count === count && use.holders === 0) await close(name)
    })
  }

  function open(name: string): Promise<Entry> {
    return inTurn(name, async () => entries.get(name) ?? (await add(await store.open(name))))
  }

  async function openSoon(name: string): Promise<Entry> {
    const entry = await Promise.race([open(name), pause(openWithin)])
    if (entry === undefined) throw isOpening(name)
    return entry
  }

  async function add(database: Database): Promise<Entry> {
    const use: Use = { count: 0, sweep: sweeps, holders: 0 }
    const through = handlesOf(database, () => {
      use.count += 1
      use.sweep = sweeps
    })
    const entry = { host: await options.open(through), views: {}, database, use }
    entries.set(database.name, entry)
    for (const { part, watcher } of watchers) watcher.opened(viewOf(entry, part))
    return entry
  }

  async function close(name: string): Promise<void> {
    const entry = entries.get(name)
    entries.delete(name)
    await entry?.host[Symbol.asyncDispose]()
  }

  async function sweep(): Promise<void> {
    sweeps += 1
    const quiet = [...entries]
      .filter(([, { use }]) => use.holders === 0 && use.sweep + QUIET_SWEEPS <= sweeps)
      .toSorted(([, a], [, b]) => a.use.sweep - b.use.sweep)
    const surplus = Math.max(0, entries.size - kept)
    await Promise.all(quiet.slice(0, surplus).map(([name]) => inTurn(name, () => close(name))))
  }

  function disconnect(name: string): void {
    for (const { watcher } of watchers) watcher.disconnected(name)
  }

  function make(name: string, make: () => Promise<void>): Promise<Entry> {
    return inTurn(name, async () => {
      await make()
      return await add(await store.open(name))
    })
  }

  function create(name: string): Promise<Entry> {
    return inTurn(name, async () => {
      const database = await store.create(name)
      try {
        return await add(database)
      } catch (error) {
        await store.remove(name)
        throw error
      }
    })
  }

  function remove(name: string): Promise<void> {
    return inTurn(name, async () => {
      await close(name)
      await store.remove(name)
      for (const { watcher } of watchers) watcher.removed(name)
    })
  }

  async function check(): Promise<void> {
    const answers = [...entries.values()].map(async ({ database }) =>
      database.read((tx) => tx.jobs.list()),
    )
    await Promise.all(answers)
  }

  async function survey<T>(work: (tx: ReadTx, name: string) => T): Promise<T[]> {
    const results = await Promise.allSettled(
      [...entries].map(async ([name, { database }]) => await database.read((tx) => work(tx, name))),
    )
    return results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
  }

  function at(part: ProgramPart): Hosts {
    const seen = async (entry: Promise<Entry>) => viewOf(await entry, part)
    return {
      list: () => store.list(),
      findOpen(name) {
        const entry = entries.get(name)
        return entry && (entry.views[part] ?? viewOf(entry, part))
      },
      open: (name) => seen(open(name)),
      openSoon: (name) => seen(openSoon(name)),
      create: (name) => seen(create(name)),
      adopt: (name) => seen(make(name, () => store.adopt(name))),
      make: (name, work) => seen(make(name, work)),
      reopen(name, work) {
        const reopened = make(name, async () => {
          await close(name)
          await work()
          disconnect(name)
        })
        return seen(reopened)
      },
      disconnect,
      remove,
      async hold(name) {
        const ready = isClosing || busy.has(name) ? undefined : entries.get(name)
        const entry = ready ?? (await open(name))
        const { use } = entry
        use.holders += 1
        return { opened: viewOf(entry, part), [Symbol.dispose]: () => void (use.holders -= 1) }
      },
      resume,
      async resumeAll(names, failed) {
        for (const name of names) {
          const resuming = resume(name).catch((error: unknown) => failed(name, error))
          await Promise.race([resuming, pause(resumeWithin)])
        }
      },
      watch: (watcher) => void watchers.push({ part, watcher }),
      survey,
      check,
    }
  }

  return {
    at,
    async [Symbol.asyncDispose]() {
      isClosing = true
      clearInterval(timer)
      await Promise.allSettled(busy.values())
      for (const name of entries.keys()) await close(name)
    },
  }
}

function viewOf({ host, views }: Entry, part: ProgramPart): OpenDatabase {
  return (views[part] ??= { ...host, database: host.through(part) })
}

/** Does not keep the process alive. */
function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, milliseconds).unref())
}

function isOpening(name: string): SatchelError {
  return new SatchelError(
    'BUSY',
    `The database ${quoted(name)} is still being opened, which takes long after an update: repeat the request`,
    { retryAfter: 5 },
  )
}

function stopping(): SatchelError {
  return new SatchelError('BUSY', 'The server is stopping: repeat the request', { retryAfter: 5 })
}
