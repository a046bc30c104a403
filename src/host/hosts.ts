import { quoted, SatchelError } from '../domain/value/error'
import type { Database, Store } from '../domain/store/store'
import type { Host } from './host'
import { MINUTE, SECOND } from '../domain/value/time'

/** The databases of a store, opened on demand and kept in a bounded cache (design.md §2). */
export interface Hosts extends AsyncDisposable {
  /** The names of the databases, sorted. */
  list(): Promise<string[]>
  /** The host if it is open, which is enough for all requests but the first. */
  findOpen(name: string): Host | undefined
  /** Throws `UNKNOWN_DATABASE`. */
  open(name: string): Promise<Host>
  /**
   * The same for a request, which does not wait long: throws `BUSY` while the file is migrated, for
   * instance.
   */
  openSoon(name: string): Promise<Host>
  /** Opens the host and keeps it open until disposed: for work that may take minutes. */
  hold(name: string): Promise<HeldHost>
  /**
   * Throws `CONFLICT` when the name is taken, `UNPROCESSABLE` when it is not a database name. Nothing
   * is left of a database that cannot be opened.
   */
  create(name: string): Promise<Host>
  /** Gives a copied database an identity of its own, as `Store.adopt` says, and opens it. */
  adopt(name: string): Promise<Host>
  /** Opens the database that `make` makes. */
  make(name: string, make: () => Promise<void>): Promise<Host>
  /**
   * Closes the database while `work` runs and opens it again. Live connections are closed: their clients
   * come back as after a restart.
   */
  reopen(name: string, work: () => Promise<void>): Promise<Host>
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
  /** Throws when one of the open databases does not answer. This is no use that keeps it open. */
  check(): Promise<void>
}

export interface HostWatcher {
  opened(host: Host): void
  /** The live connections of this database are to be closed: their clients come back. */
  disconnected(name: string): void
  /** The database with this name is gone. */
  removed(name: string): void
}

export interface HeldHost extends Disposable {
  readonly host: Host
}

export interface HostsOptions {
  readonly store: Store
  /** Opens a host, which closes the database when it is disposed. Closes it also if opening fails. */
  open(database: Database): Promise<Host>
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
  readonly host: Host
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

export function createHosts(options: HostsOptions): Hosts {
  const { store, kept = 64, sweepEvery = MINUTE, resumeWithin = SECOND } = options
  const { openWithin = 5 * SECOND } = options
  const entries = new Map<string, Entry>()
  const busy = new Map<string, Promise<unknown>>()
  const watchers: HostWatcher[] = []
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
    const { jobs, blobKeeper } = await open(name)
    const use = entries.get(name)?.use
    await jobs.idle()
    await blobKeeper.collect()
    const count = use?.count
    if (entries.size <= kept) return
    await inTurn(name, async () => {
      if (use?.count === count && use?.holders === 0) await close(name)
    })
  }

  function findOpen(name: string): Host | undefined {
    return entries.get(name)?.host
  }

  function open(name: string): Promise<Host> {
    return inTurn(name, async () => findOpen(name) ?? (await add(await store.open(name))))
  }

  async function openSoon(name: string): Promise<Host> {
    const host = await Promise.race([open(name), pause(openWithin)])
    if (host === undefined) throw isOpening(name)
    return host
  }

  async function add(database: Database): Promise<Host> {
    const use: Use = { count: 0, sweep: sweeps, holders: 0 }
    const observed = observe(database, () => {
      use.count += 1
      use.sweep = sweeps
    })
    const host = await options.open(observed)
    entries.set(host.name, { host, database, use })
    for (const watcher of watchers) watcher.opened(host)
    return host
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
    for (const watcher of watchers) watcher.disconnected(name)
  }

  function make(name: string, make: () => Promise<void>): Promise<Host> {
    return inTurn(name, async () => {
      await make()
      return await add(await store.open(name))
    })
  }

  return {
    list: () => store.list(),
    findOpen,
    open,
    openSoon,
    create: (name) =>
      inTurn(name, async () => {
        const database = await store.create(name)
        try {
          return await add(database)
        } catch (error) {
          await store.remove(name)
          throw error
        }
      }),
    adopt: (name) => make(name, () => store.adopt(name)),
    make,
    reopen: (name, work) =>
      make(name, async () => {
        await close(name)
        await work()
        disconnect(name)
      }),
    disconnect,
    remove: (name) =>
      inTurn(name, async () => {
        await close(name)
        await store.remove(name)
        for (const watcher of watchers) watcher.removed(name)
      }),
    async hold(name) {
      const host = await open(name)
      const use = entries.get(name)?.use
      if (use === undefined) throw stopping()
      use.holders += 1
      return { host, [Symbol.dispose]: () => void (use.holders -= 1) }
    },
    resume,
    async resumeAll(names, failed) {
      for (const name of names) {
        const resuming = resume(name).catch((error: unknown) => failed(name, error))
        await Promise.race([resuming, pause(resumeWithin)])
      }
    },
    watch: (watcher) => void watchers.push(watcher),
    async check() {
      const answers = [...entries.values()].map(async ({ database }) =>
        database.read((tx) => tx.jobs.list()),
      )
      await Promise.all(answers)
    },
    async [Symbol.asyncDispose]() {
      isClosing = true
      clearInterval(timer)
      await Promise.allSettled(busy.values())
      for (const name of entries.keys()) await close(name)
    },
  }
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

/** The database, with `use` called whenever it is used. */
function observe(database: Database, use: () => void): Database {
  return {
    id: database.id,
    name: database.name,
    read(work) {
      use()
      return database.read(work)
    },
    write(work, options) {
      use()
      return database.write(work, options)
    },
    writeSteps(work, options) {
      use()
      return database.writeSteps(work, options)
    },
    onCommit: (listener) => database.onCommit(listener),
    commitsAfter: (revision) => database.commitsAfter(revision),
    duty: (name, granted) => database.duty(name, granted),
    async *verify(meanings, accepts) {
      for await (const step of database.verify(meanings, accepts)) {
        use()
        yield step
      }
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}
