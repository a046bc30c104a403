import type { Authority } from './auth/authority'
import type { Database, Store } from './domain/store'
import type { Host, Hosts } from './http/hosts'

/** The databases of a store, opened when they are asked for (design.md §2). */
export interface OpenHosts extends Hosts, AsyncDisposable {
  /** Throws `CONFLICT` when the name is taken, `UNPROCESSABLE` when it is no database name. */
  create(name: string): Promise<Host>
  /** Closes the database and removes everything of it. Throws `UNKNOWN_DATABASE`. */
  remove(name: string): Promise<void>
}

export interface HostsOptions {
  /** How many stay open though nobody has asked for them lately. */
  readonly kept?: number
  /** How often to look for databases to close, ms. */
  readonly sweepEvery?: number
}

interface Entry {
  readonly host: Host
  /** How many sweeps there had been when it was used last. */
  lastUse(): number
}

/** A database used within the last two sweeps stays open: somebody may be reading a long list. */
const QUIET_SWEEPS = 2

export function createHosts(
  store: Store,
  openAuthority: (database: Database) => Promise<Authority>,
  { kept = 64, sweepEvery = 60_000 }: HostsOptions = {},
): OpenHosts {
  const entries = new Map<string, Entry>()
  const busy = new Map<string, Promise<unknown>>()
  let sweeps = 0
  const timer = setInterval(() => void sweep(), sweepEvery)
  timer.unref()

  /** Opening, closing and removing one database happen one after the other. */
  function inTurn<T>(name: string, work: () => Promise<T>): Promise<T> {
    const turn = (busy.get(name) ?? Promise.resolve()).then(work, work)
    busy.set(name, turn)
    const leave = () => {
      if (busy.get(name) === turn) busy.delete(name)
    }
    turn.then(leave, leave)
    return turn
  }

  function findOpen(name: string): Host | undefined {
    return entries.get(name)?.host
  }

  async function admit(database: Database): Promise<Host> {
    const { name } = database
    let lastUse = sweeps
    const observed = observe(database, () => {
      lastUse = sweeps
    })
    const host = { name, database: observed, authority: await openAuthority(observed) }
    entries.set(name, { host, lastUse: () => lastUse })
    return host
  }

  async function close(name: string): Promise<void> {
    const host = findOpen(name)
    entries.delete(name)
    await host?.authority[Symbol.asyncDispose]()
    await host?.database[Symbol.asyncDispose]()
  }

  async function sweep(): Promise<void> {
    sweeps += 1
    const quiet = [...entries]
      .filter(([, entry]) => entry.lastUse() + QUIET_SWEEPS <= sweeps)
      .toSorted(([, a], [, b]) => a.lastUse() - b.lastUse())
    const surplus = Math.max(0, entries.size - kept)
    await Promise.all(quiet.slice(0, surplus).map(([name]) => inTurn(name, () => close(name))))
  }

  return {
    findOpen,
    open: (name) =>
      inTurn(name, async () => findOpen(name) ?? (await admit(await store.open(name)))),
    create: (name) => inTurn(name, async () => await admit(await store.create(name))),
    async check() {
      const answers = [...entries.values()].map(({ host }) =>
        host.database.read((tx) => tx.clients.list()),
      )
      await Promise.all(answers)
    },
    remove: (name) =>
      inTurn(name, async () => {
        await close(name)
        await store.remove(name)
      }),
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await Promise.allSettled(busy.values())
      for (const name of entries.keys()) await close(name)
    },
  }
}

/** The database, with `use` called whenever it is used. */
function observe(database: Database, use: () => void): Database {
  return {
    id: database.id,
    name: database.name,
    folder: database.folder,
    get policy() {
      return database.policy
    },
    read(work) {
      use()
      return database.read(work)
    },
    write(work) {
      use()
      return database.write(work)
    },
    onCommit: (listener) => database.onCommit(listener),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}
