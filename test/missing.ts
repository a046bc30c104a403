import { test } from 'bun:test'
import process from 'node:process'
import type { Engine } from '../src/domain/store/engine'
import type { Database, ReadTx, Step, Store, WriteTx } from '../src/domain/store/store'
import type { TestStore } from '../src/domain/store/test-store'

// An engine for tests that has no value at once, as one behind a network: the first time that a unit asks for a value,
// the run of the unit is discarded, and the next run has the value. Once all are there, one more run is discarded.
// A unit that has an effect but through its `tx` shows it (design.md §3).

/** True when the setups of tests are to use this engine. */
export const isMissing = process.env['SATCHEL_TEST_ENGINE'] === 'missing'

/** A unit that has missed as many values gets the others at once: its runs grow with the square of the values. */
const MOST_MISSES = Number(process.env['SATCHEL_TEST_MISSES'] ?? 100)

/**
 * Functions whose reads and steps run once: an engine behind a network has to find all that they read before.
 * `inSteps`: the work of a long transaction of sync is a generator, which cannot go back, and its rows stay in memory
 * from step to step. `serveAll`: live connections are told while their changes are read.
 */
const RUN_ONCE = ['inSteps', 'serveAll']

/** For tests that count what the work of a unit does: another run does it again. */
export const countingTest = test.skipIf(isMissing)

/** The store as the setups of tests use it. */
export function underTest<T extends Store>(store: T): T {
  return isMissing ? missingStore(store) : store
}

/** The engine as the setups of tests use it. */
export function engineUnderTest(engine: Engine): Engine {
  return isMissing ? { ...engine, store: missingStore(engine.store) } : engine
}

/** A store whose databases miss every value once. */
export function missingStore<T extends Store | (Store & TestStore)>(store: T): T {
  const known = new WeakMap<Database, Database>()
  const wrapped = (database: Database) => {
    const made = known.get(database) ?? missing(database)
    known.set(database, made)
    return made
  }
  return {
    ...store,
    open: async (name: string) => wrapped(await store.open(name)),
    create: async (name: string) => wrapped(await store.create(name)),
  }
}

/** A database that misses every value once in each read, unit and step. */
export function missing(database: Database, mostMisses = MOST_MISSES): Database {
  return {
    ...database,
    read: (work) => {
      if (runsOnce()) return database.read(work)
      const values = createValues(mostMisses)
      return database.read((tx) => repeated(values, tx, (run) => run.end(() => work(run.tx))))
    },
    write(work, options) {
      if (runsOnce()) return database.write(work, options)
      const values = createValues(mostMisses)
      return database.write((tx) => inParts(values, tx, work), options)
    },
    writeSteps: (work, options) =>
      database.writeSteps((step) => work(missingStep(step, mostMisses)), options),
  }
}

function missingStep(step: Step, mostMisses: number): Step {
  const run = <T>(work: (tx: WriteTx) => T): Promise<T> => {
    if (runsOnce()) return step(work)
    const values = createValues(mostMisses)
    return step((tx) => inParts(values, tx, work))
  }
  return Object.assign(run, { attempt: step.attempt.bind(step) })
}

/** True when one of these functions has called. */
function runsOnce(): boolean {
  const { stack = '' } = new Error('for its stack')
  return RUN_ONCE.some((name) => stack.includes(name))
}

/** Each run is a part of the unit, so that the changes of one that is discarded are undone. */
function inParts<T>(values: Values, tx: WriteTx, work: (tx: WriteTx) => T): T {
  return repeated(values, tx, (run) => tx.attempt(() => run.end(() => work(run.tx))))
}

function repeated<T extends ReadTx, R>(values: Values, tx: T, once: (run: Run<T>) => R): R {
  for (;;) {
    const run = createRun(values, tx)
    try {
      return once(run)
    } catch (error) {
      if (!(error instanceof Discarded)) throw error
      values.misses += 1
    }
  }
}

/** The signal: a run is discarded. */
class Discarded extends Error {}

/** What the runs of a unit share. */
interface Values {
  /** The values that it has, by verb and arguments. */
  readonly known: Set<string>
  /** The ids that it has got, in the order of the calls. */
  readonly ids: { readonly asked: string; readonly id: string }[]
  readonly mostMisses: number
  misses: number
  /** A run that missed nothing was discarded. */
  isRepeated: boolean
}

function createValues(mostMisses: number): Values {
  return { known: new Set(), ids: [], mostMisses, misses: 0, isRepeated: false }
}

interface Run<T> {
  readonly tx: T
  /** Does the work, and throws when the run is to be discarded, however it ended. */
  end<R>(work: () => R): R
}

function createRun<T extends ReadTx>(values: Values, real: T): Run<T> {
  const { known, ids, mostMisses } = values
  let missed: Discarded | undefined
  let isOver = false
  let isDiscarded = false
  let made = 0

  function look(verb: string, parameters: readonly unknown[]): void {
    if (isDiscarded) throw new Error(`${verb}: this run of the unit was discarded`)
    if (isOver || values.misses >= mostMisses) return
    const key = `${verb} ${textOf(parameters)}`
    if (known.has(key)) return
    known.add(key)
    missed ??= new Discarded(key.slice(0, 200))
    throw missed
  }

  function newId(prefix: string, realmId: string): string {
    const asked = `${prefix} ${realmId}`
    const before = ids[made++]
    // Each run notes that ids were given.
    const id = (real as unknown as WriteTx).newId(prefix, realmId)
    if (before === undefined) {
      ids.push({ asked, id })
      return id
    }
    if (before.asked === asked) return before.id
    throw new Error(
      `a unit asked for the id ${before.asked} in one run and for ${asked} in another`,
    )
  }

  /** Discards one run that had all values: what only its end does is repeated too. */
  function requireRepeated(): void {
    if (values.isRepeated || values.misses >= mostMisses) return
    values.isRepeated = true
    isDiscarded = true
    throw new Discarded('all values')
  }

  function end<R>(work: () => R): R {
    try {
      const result = work()
      if (result instanceof Promise) return result
      if (missed !== undefined) throw fault(missed)
      requireRepeated()
      return result
    } catch (error) {
      isDiscarded ||= missed !== undefined
      if (missed !== undefined && error !== missed) throw fault(missed, error)
      if (missed === undefined) requireRepeated()
      throw error
    } finally {
      isOver = true
    }
  }

  return { tx: txOf(real, { look, newId, hasEnded: () => isOver }), end }
}

function fault(missed: Discarded, cause?: unknown): Error {
  const error = new Error(`a catch swallowed the signal of a missing value: ${missed.stack}`, {
    cause,
  })
  // An outer catch may take it for a failure that a test expects.
  if (isMissing) process.stderr.write(`${error.message}\n`)
  return error
}

interface Looks {
  readonly look: (verb: string, parameters: readonly unknown[]) => void
  readonly newId: (prefix: string, realmId: string) => string
  readonly hasEnded: () => boolean
}

type Verb = (...parameters: unknown[]) => unknown

function txOf<T extends ReadTx>(real: T, { look, newId, hasEnded }: Looks): T {
  const nouns = new Map<string, object>()
  return new Proxy(real, {
    get(_, name) {
      const part = Reflect.get(real, name) as unknown
      if (typeof name !== 'string') return part
      if (name === 'newId') return hasEnded() ? bound(real, part as Verb) : newId
      if (typeof part === 'function') {
        return READING.has(name) ? looking(name, real, part as Verb) : bound(real, part as Verb)
      }
      if (typeof part !== 'object' || part === null) return part
      const noun = nouns.get(name) ?? nounOf(name, part)
      nouns.set(name, noun)
      return noun
    },
  })

  function nounOf(name: string, noun: object): object {
    const writing: Readonly<Record<string, true>> = WRITING[name as Noun]
    const verbs = new Map<string, Verb>()
    return new Proxy(noun, {
      get(_, verb) {
        const method = Reflect.get(noun, verb) as unknown
        if (typeof method !== 'function' || typeof verb !== 'string') return method
        const known = verbs.get(verb)
        if (known !== undefined) return known
        const made = writing[verb]
          ? bound(noun, method as Verb)
          : looking(`${name}.${verb}`, noun, method as Verb)
        verbs.set(verb, made)
        return made
      },
    })
  }

  function looking(verb: string, target: object, method: Verb): Verb {
    return (...parameters) => {
      look(verb, parameters)
      return method.apply(target, parameters)
    }
  }
}

function bound(target: object, method: Verb): Verb {
  return (...parameters) => method.apply(target, parameters)
}

type Noun = Exclude<keyof ReadTx, 'revision' | 'latestTime' | 'remember'>

/** The verbs of a transaction itself that ask for a value. */
const READING: ReadonlySet<string> = new Set(['revision', 'latestTime'])

type WritingVerbs<N extends Noun> = Exclude<keyof WriteTx[N], keyof ReadTx[N]>

/** The verbs that change something: they are done at once. All others ask for values. */
const WRITING: { readonly [N in Noun]: Readonly<Record<WritingVerbs<N>, true>> } = {
  tables: { put: true, setIndexState: true, seal: true },
  objects: {
    put: true,
    insert: true,
    remove: true,
    addEntries: true,
    dropEntries: true,
    erase: true,
  },
  blobs: { put: true, remove: true, setFile: true },
  realms: { ensure: true, markErasing: true },
  memberships: { put: true, remove: true, removeOfRealm: true, forgetFormer: true },
  users: { put: true, noteLogin: true, remove: true },
  clients: { put: true, remove: true },
  keys: { put: true, remove: true },
  refreshTokens: { put: true, recordUse: true, removeOf: true },
  codes: { put: true },
  invitations: { put: true },
  mails: { put: true, remove: true },
  origins: { put: true, remove: true },
  settings: { put: true, remove: true },
  providers: { put: true, remove: true },
  logins: { spend: true, revoke: true },
  jobs: { put: true, remove: true },
  runs: {},
  syncClients: {
    ensure: true,
    put: true,
    noteCorrection: true,
    notePrivates: true,
    removeOfSubject: true,
  },
  applied: { put: true, putKeys: true, removeKeys: true, prune: true },
  criteriaOps: { put: true },
  audit: { put: true, rename: true },
}

/** The same text for the same parameters. */
function textOf(parameters: readonly unknown[]): string {
  return JSON.stringify(parameters, (_, value: unknown) => {
    if (typeof value === 'function') return String(value)
    if (typeof value === 'bigint') return String(value)
    if (value === undefined) return 'undefined'
    if (value instanceof Set) return [...value].map(String).toSorted((a, b) => (a < b ? -1 : 1))
    if (value instanceof Map) return [...value]
    if (value instanceof Uint8Array) return value.toHex()
    if (isTable(value)) return `table ${value.number}`
    return value
  })
}

function isTable(value: unknown): value is { readonly number: number } {
  return typeof value === 'object' && value !== null && 'number' in value && 'builtIn' in value
}
