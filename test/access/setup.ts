import type { Actor } from '../../src/domain/access/actor'
import { SatchelError } from '../../src/domain/value/error'
import type { Filter } from '../../src/domain/object/filter'
import { listObjects } from '../../src/domain/object/list'
import { getObject } from '../../src/domain/object/object'
import { removeObject } from '../../src/domain/object/remove'
import { upsertObjects } from '../../src/domain/object/upsert'
import { parseStores } from '../../src/domain/value/schema'
import { SCOPES } from '../../src/domain/value/scope'
import type { Database } from '../../src/domain/store/store'
import type { ViewName } from '../../src/domain/access/view'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock, type TestClock } from '../auth/setup'
import { underTest } from '../missing'
import { temporaryFolder } from '../setup'
import { judge, type Operation, put, remove, through } from './operation'
import type { Verdict } from './oracle'
import type { Refusal } from './oracle-refusal'
import { EMPTY, NOW, type Person, rowsOf, type Value, type World } from './oracle-world'
import { ROW_RULES } from '../../src/domain/rows/row-rules'
import { declareTables } from '../../src/domain/object/tables'

export const TABLES = ['realms', 'members', 'roles', 'todoItems', 'notes']

/** A database of its own, gone when the test ends. */
export interface TestDatabase extends AsyncDisposable {
  readonly database: Database
  /** The data folder. */
  readonly folder: string
  readonly clock: TestClock
}

export async function openDatabase(): Promise<TestDatabase> {
  await using undo = new AsyncDisposableStack()
  const folder = undo.use(temporaryFolder())
  const clock = createTestClock(NOW)
  const store = underTest(undo.use(createSqliteStore(folder.path, { clock, durability: 'none' })))
  const database = await store.create('main')
  const schemas = parseStores({ todoItems: '@id, title', notes: 'id' })
  await database.write((tx) => declareTables(tx, schemas, NOW))
  const parts = undo.move()
  return { database, folder: folder.path, clock, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

/** Tries something on the database as it is and leaves no trace: a unit that is rolled back. */
export async function rehearse<T>(
  database: Database,
  work: (stage: Database) => Promise<T>,
): Promise<T> {
  const over = Promise.withResolvers<T>()
  const rollBack = new Error('rolled back')
  await database
    .writeSteps(async (step) => {
      const stage: Database = {
        ...database,
        read: (read) => step(read) as never,
        write: (write) => step.attempt(async () => step(write)) as never,
        writeSteps: (write) => step.attempt(() => write(step)),
      }
      await work(stage).then(over.resolve, over.reject)
      throw rollBack
    })
    .catch((error: unknown) => {
      if (error !== rollBack) over.reject(error)
    })
  return over.promise
}

export const ADMINISTRATOR: Person = { id: 'administrator' }

/** The token that a view is used with. */
export const actorFor = ({ id, email }: Person, view: ViewName): Actor => ({
  subject: id,
  email: email ?? null,
  name: null,
  scopes: new Set(view === 'my' ? ['ACCESS_DB'] : SCOPES),
})

export type Answer = { readonly texts: readonly string[] } | SatchelError

/** Carries an operation out; what the caller would be told. */
export async function act(
  database: Database,
  person: Person,
  operation: Operation,
): Promise<Answer> {
  const { view, table } = operation
  const actor = actorFor(person, view)
  try {
    if (operation.verb === 'remove') {
      await removeObject(database, {
        actor,
        view,
        table,
        key: operation.key,
        now: NOW,
        rulesByTable: ROW_RULES,
      })
      return { texts: [] }
    }
    const objects = structuredClone(operation.objects)
    const upsert = { actor, view, table, objects, isArray: true, now: NOW, rulesByTable: ROW_RULES }
    return { texts: await upsertObjects(database, upsert) }
  } catch (error) {
    if (error instanceof SatchelError) return error
    throw error
  }
}

/** Everything a view lists, in order. */
export async function list(
  database: Database,
  actor: Actor,
  view: ViewName,
  table: string,
  filters: readonly Filter[] = [],
): Promise<Value[]> {
  const texts: string[] = []
  let part = await listObjects(database, actor, view, table, { filters })
  texts.push(...part.texts)
  while (part.more !== undefined) {
    part = await part.more()
    texts.push(...part.texts)
  }
  return JSON.parse(`[${texts.join(',')}]`) as Value[]
}

/** The object, or the code of the refusal. */
export async function get(
  database: Database,
  actor: Actor,
  view: ViewName,
  table: string,
  key: string,
): Promise<Value | string> {
  try {
    return JSON.parse(await getObject(database, actor, view, table, key)) as Value
  } catch (error) {
    if (error instanceof SatchelError) return error.code
    throw error
  }
}

/** Everything there is, as the oracle would write it down. */
export async function stateOf(database: Database): Promise<string[]> {
  const actor = actorFor(ADMINISTRATOR, 'all')
  const state: string[] = []
  for (const table of TABLES) {
    const values = await list(database, actor, 'all', table)
    state.push(...values.map((value) => `${table} ${inOrder(value)}`))
  }
  return state
}

export const expectedState = (world: World): string[] =>
  TABLES.flatMap((table) => rowsOf(world, table).map(({ value }) => `${table} ${inOrder(value)}`))

/** An object as text, its properties in the order of their names. */
export const inOrder = (value: Value): string =>
  JSON.stringify(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))

/** Writes rows with GLOBAL_WRITE, the realms first, and says what the oracle makes of it. */
export async function seed(
  database: Database,
  rows: readonly (readonly [table: string, value: Value])[],
): Promise<World> {
  let world = EMPTY
  for (const table of TABLES) {
    const objects = rows.filter(([name]) => name === table).map(([, value]) => value)
    if (objects.length === 0) continue
    const operation: Operation = { verb: 'put', view: 'all', table, objects }
    world = await mustAct(database, world, ADMINISTRATOR, operation)
  }
  return world
}

/** An operation that the oracle and the database both have to allow. */
export async function mustAct(
  database: Database,
  world: World,
  person: Person,
  operation: Operation,
): Promise<World> {
  const verdict = judge(world, person, operation)
  const answer = await act(database, person, operation)
  if (answer instanceof Error) throw answer
  if (!verdict.allowed) throw new Error(`The oracle refuses ${JSON.stringify(operation)}`)
  return verdict.world
}

export const asAdministrator = (operation: Operation): Operation => through('all', operation)

/** The fault of an answer according to the oracle; undefined when it is right. */
export function complaint(verdict: Verdict, answer: Answer): string | undefined {
  if (!(answer instanceof SatchelError)) {
    return verdict.allowed ? undefined : `allowed, but ${JSON.stringify(verdict.refusals)}`
  }
  const told = `${answer.code}: ${answer.reason ?? 'no reason'} (${answer.message})`
  if (verdict.allowed) return `refused, but nothing forbids it: ${told}`
  if (verdict.refusals.some((refusal) => fits(refusal, answer))) return undefined
  return `refused with ${told} instead of ${JSON.stringify(verdict.refusals)}`
}

const fits = ({ code, names }: Refusal, { code: told, reason = '' }: SatchelError): boolean =>
  code === told && names.every((name) => reason.includes(name))

/** A user with a token for `/my`. */
export const as = (database: Database, person: Person) => {
  const actor = actorFor(person, 'my')
  return {
    put: (table: string, ...objects: readonly Value[]) =>
      act(database, person, put(table, ...objects)),
    remove: (table: string, key: string) => act(database, person, remove(table, key)),
    get: (table: string, key: string) => get(database, actor, 'my', table, key),
    list: (table: string, filters?: readonly Filter[]) =>
      list(database, actor, 'my', table, filters),
  }
}

/** A caller with GLOBAL_WRITE, on `/all`. */
export const administrator = (database: Database) => ({
  put: (table: string, ...objects: readonly Value[]) =>
    act(database, ADMINISTRATOR, asAdministrator(put(table, ...objects))),
  remove: (table: string, key: string) =>
    act(database, ADMINISTRATOR, asAdministrator(remove(table, key))),
  get: (table: string, key: string) =>
    get(database, actorFor(ADMINISTRATOR, 'all'), 'all', table, key),
})
