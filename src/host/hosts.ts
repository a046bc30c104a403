import { SatchelError } from '../domain/value/error'
import { createJobRunner, type JobRunner, type JobStep } from '../domain/job/job-runner'
import type { Database, Store } from '../domain/store/store'
import type { Host, Hosts, Services } from './host'
import type { Job } from '../domain/store/records'

/** The databases of a store, opened when they are asked for (design.md §2). */
export interface OpenHosts extends Hosts, AsyncDisposable {
  /** Throws `CONFLICT` when the name is taken, `UNPROCESSABLE` when it is no database name. */
  create(name: string): Promise<Host>
  /** Closes the database and removes everything of it. Throws `UNKNOWN_DATABASE`. */
  remove(name: string): Promise<void>
  /** Opens the database and works off the jobs that an earlier process left behind. */
  resume(name: string): Promise<void>
}

export interface HostsParts {
  readonly store: Store
  /** What a database is served with; disposed before it. */
  openServices(database: Database): Promise<Services>
  /** Clears away what an earlier process left behind; nobody uses the database yet. */
  tidy(database: Database): Promise<void>
  /** What works off the jobs of a database that is served. */
  readonly jobSteps: (host: Host) => Readonly<Partial<Record<Job['kind'], JobStep>>>
  /** Told of every step of a job that failed. */
  jobFailed(database: string, job: Job, error: unknown): void
  /** How many databases stay open though nobody has asked for them lately. */
  readonly kept?: number
  /** How often to look for databases to close, ms. */
  readonly sweepEvery?: number
}

interface Entry {
  readonly host: Host
  readonly jobs: JobRunner
  readonly use: Use
}

interface Use {
  /** Reads and writes so far. */
  count: number
  /** How many sweeps there had been at the last of them. */
  sweep: number
  /** How many are holding it open. */
  holders: number
}

/** A database used within the last two sweeps stays open: somebody may be reading a long list. */
const QUIET_SWEEPS = 2

export function createHosts(parts: HostsParts): OpenHosts {
  const { store, jobSteps, kept = 64, sweepEvery = 60_000 } = parts
  const entries = new Map<string, Entry>()
  const busy = new Map<string, Promise<unknown>>()
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

  function findOpen(name: string): Host | undefined {
    return entries.get(name)?.host
  }

  function open(name: string): Promise<Host> {
    return inTurn(name, async () => findOpen(name) ?? (await admit(await store.open(name))))
  }

  async function admit(opened: Database): Promise<Host> {
    const { name } = opened
    const use: Use = { count: 0, sweep: sweeps, holders: 0 }
    const database = observe(opened, () => {
      use.count += 1
      use.sweep = sweeps
    })
    try {
      await parts.tidy(database)
      const host = { name, database, ...(await parts.openServices(database)) }
      const jobs = createJobRunner(database, jobSteps(host), (job, error) =>
        parts.jobFailed(name, job, error),
      )
      entries.set(name, { host, jobs, use })
      return host
    } catch (error) {
      await database[Symbol.asyncDispose]()
      throw error
    }
  }

  async function close(name: string): Promise<void> {
    const entry = entries.get(name)
    entries.delete(name)
    await entry?.jobs[Symbol.asyncDispose]()
    await entry?.host.blobKeeper[Symbol.asyncDispose]()
    await entry?.host.mailer[Symbol.asyncDispose]()
    await entry?.host.authority[Symbol.asyncDispose]()
    await entry?.host.blobs[Symbol.asyncDispose]()
    await entry?.host.database[Symbol.asyncDispose]()
  }

  async function sweep(): Promise<void> {
    sweeps += 1
    const quiet = [...entries]
      .filter(([, { use }]) => use.holders === 0 && use.sweep + QUIET_SWEEPS <= sweeps)
      .toSorted(([, a], [, b]) => a.use.sweep - b.use.sweep)
    const surplus = Math.max(0, entries.size - kept)
    await Promise.all(quiet.slice(0, surplus).map(([name]) => inTurn(name, () => close(name))))
  }

  return {
    findOpen,
    open,
    create: (name) => inTurn(name, async () => await admit(await store.create(name))),
    remove: (name) =>
      inTurn(name, async () => {
        await close(name)
        await store.remove(name)
      }),
    async hold(name) {
      const host = await open(name)
      const use = entries.get(name)?.use
      if (use === undefined) throw stopping()
      use.holders += 1
      return { ...host, [Symbol.dispose]: () => void (use.holders -= 1) }
    },
    async resume(name) {
      await open(name)
      const entry = entries.get(name)
      await entry?.jobs.idle()
      await entry?.host.blobKeeper.collect()
      const uses = entry?.use.count
      if (entries.size <= kept) return
      await inTurn(name, async () => {
        if (entry?.use.count === uses && entry?.use.holders === 0) await close(name)
      })
    },
    async check() {
      const answers = [...entries.values()].map(({ host }) =>
        host.database.read((tx) => tx.clients.list()),
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

function stopping(): SatchelError {
  return new SatchelError('BUSY', 'The server is stopping: repeat the request', { retryAfter: 5 })
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
