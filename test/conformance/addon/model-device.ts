import type Dexie from 'dexie'
import type { Person, Value } from '../../access/oracle-world'
import type { Device, LocalOperation, Maker } from '../../sync/model/device'
import { TABLES } from '../../sync/model/server'
import { type Application, openApplication } from './setup'
import { pull } from './sync'

/** What the application of a device in random histories declares. */
const STORES = {
  items: '@id, list, *tags, n, m, [list+n], deep.x',
  notes: 'id',
  counts: 'id',
}

/** A device with the published add-on that takes part in a random history. */
export async function openModelDevice(
  databaseUrl: string,
  person: Person,
  isLive: boolean,
): Promise<Device & AsyncDisposable> {
  const cloud = { disableWebSocket: !isLive }
  const app = await openApplication(databaseUrl, { stores: STORES, cloud })
  await app.perform({ do: 'login', hints: { email: person.id } })
  let shown = await shownBy(app, person)
  let made = 0

  async function synchronize(): Promise<void> {
    // A server that is gone, or an answer that is lost, is a matter of the history.
    await pull(app).catch(() => undefined)
    shown = await shownBy(app, person)
  }

  async function transact(makers: readonly Maker[]): Promise<void> {
    const tag = () => `${person.id} ${(made += 1)}`
    shown = await shownBy(app, person)
    const operations = makers.flatMap((make) => make(tag)).map((one) => localOf(one, person))
    await app.run(execute, operations).catch((error: unknown) => {
      // What the local database refuses was not done.
      if (!/ConstraintError|BulkError|ModifyError/.test(String(error))) throw error
    })
    shown = await shownBy(app, person)
  }

  return {
    person,
    name: `the add-on of ${person.id}`,
    rowsOf: (table) => shown.rows.get(table) ?? new Map(),
    transact,
    async begin() {
      await synchronize()
      return true
    },
    finish: () => undefined,
    synchronize,
    async process() {
      shown = await shownBy(app, person)
      return false
    },
    connect: () => undefined,
    disconnect: () => undefined,
    lose: () => undefined,
    /** The add-on repeats a request whose answer was lost. */
    drop: () =>
      app.run((_db, _given, device) => {
        device.around = async (send) => {
          device.around = (again) => again()
          await send()
          throw new TypeError('Failed to fetch')
        }
      }),
    repeat: synchronize,
    calm: synchronize,
    wipe: synchronize,
    setSkew: (ms) =>
      app.run((_db, ahead, device) => {
        device.clockAhead = ahead
      }, ms),
    isKnown: true,
    get isPending() {
      return shown.pending > 0
    },
    isConnected: false,
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  }
}

interface Shown {
  readonly rows: ReadonlyMap<string, ReadonlyMap<string, Value>>
  readonly pending: number
}

async function shownBy(app: Application, { id }: Person): Promise<Shown> {
  const { tables, pending } = await app.run(async (db, names) => {
    const found: Record<string, Value[]> = {}
    for (const name of names) found[name] = await db.table(name).toArray()
    const logs = db.tables.filter(({ name }) => name.endsWith('_mutations'))
    const counts = await Promise.all(logs.map((log) => log.count()))
    return { tables: found, pending: counts.reduce((sum, count) => sum + count, 0) }
  }, TABLES)
  const rows = new Map(
    Object.entries(tables).map(([table, values]) => {
      const all = values.map((value) => wireOf(value, id) as Value)
      return [table, new Map(all.map((value) => [keyOf(table, value), value] as const))] as const
    }),
  )
  return { rows, pending }
}

function keyOf(table: string, value: Value): string {
  if (table === 'roles') return JSON.stringify([value['realmId'], value['name']])
  return String(table === 'realms' ? value['realmId'] : value['id'])
}

/** A value of the application as it is on the wire. */
function wireOf(value: unknown, user: string): unknown {
  if (value instanceof Date) return { $t: 'Date', v: value.toISOString() }
  if (typeof value === 'string') return value === '#note' ? `#note:${user}` : value
  if (Array.isArray(value)) return value.map((one) => wireOf(one, user))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, one]) => one !== undefined)
  return Object.fromEntries(
    entries.map(([name, one]) => [name.startsWith('$') ? `$${name}` : name, wireOf(one, user)]),
  )
}

/** An operation of the model with the keys and values that an application uses. */
function localOf(operation: LocalOperation, { id }: Person): object {
  const revive = (value: unknown): unknown => {
    if (value === `#note:${id}`) return '#note'
    if (Array.isArray(value)) return value.map(revive)
    if (typeof value !== 'object' || value === null) return value
    const { $t, v } = value as { readonly $t?: unknown; readonly v?: unknown }
    if ($t === 'undefined') return undefined
    if ($t === 'Date') return new Date(String(v))
    if ($t === 'number') return Number.NEGATIVE_INFINITY
    const entries = Object.entries(value).filter(([name]) => name !== '$$ts')
    return Object.fromEntries(entries.map(([name, one]) => [name, revive(one)]))
  }
  return revive(operation) as object
}

/** Executes operations in one transaction of the application, as its own code would. */
async function execute(db: Dexie, operations: readonly object[]): Promise<void> {
  const { PropModification } = db.constructor as never as {
    PropModification: new (spec: object) => unknown
  }
  type Spec = Record<string, unknown>
  interface Given {
    readonly table: string
    readonly type: string
    readonly keys: readonly string[]
    readonly values?: readonly Spec[]
    readonly changeSpecs?: readonly Spec[]
    readonly changeSpec?: Spec
    readonly isAdditionalChunk?: true
    readonly criteria?: {
      readonly index?: string | null
      readonly range: {
        readonly type: number
        readonly lower: unknown
        readonly upper: unknown
        readonly lowerOpen?: boolean
        readonly upperOpen?: boolean
      }
    }
  }
  const executable = (spec: Spec | undefined) =>
    Object.fromEntries(
      Object.entries(spec ?? {}).map(([path, value]) => {
        const isModification = typeof value === 'object' && value !== null && '@@propmod' in value
        return [path, isModification ? new PropModification(value['@@propmod'] as object) : value]
      }),
    )
  const tables = db.tables.filter(({ name }) => !name.startsWith('$'))
  await db.transaction('rw', tables, async () => {
    for (const given of operations as readonly Given[]) {
      const table = db.table(given.table)
      const { type, keys, values = [], changeSpecs = [], criteria } = given
      // The add-on makes chunks of its own.
      if (given.isAdditionalChunk) continue
      if (criteria !== undefined) {
        const { index, range } = criteria
        const found =
          index === undefined
            ? table.toCollection()
            : table
                .where(index ?? ':id')
                .between(
                  range.lower ?? -Infinity,
                  (range.type === 1 ? range.lower : range.upper) ?? [[]],
                  range.lowerOpen !== true,
                  range.upperOpen !== true,
                )
        await (type === 'delete' ? found.delete() : found.modify(executable(given.changeSpec)))
      } else if (type === 'delete') await table.bulkDelete([...keys])
      else if (type === 'insert') await table.bulkAdd([...values])
      else if (type === 'update') {
        if (keys.length === 0) await table.update('missing', executable(changeSpecs[0]))
        else if (keys.length > 1 && changeSpecs.length === 1) {
          const several = table.where(':id').anyOf([...keys])
          await several.modify(executable(changeSpecs[0]))
        } else {
          for (const [at, key] of keys.entries())
            await table.update(key, executable(changeSpecs[at]))
        }
      } else if (changeSpecs.length > 0) {
        for (const [at, key] of keys.entries()) await table.upsert(key, executable(changeSpecs[at]))
      } else await table.bulkPut([...values])
    }
  })
}
