import { expect } from 'bun:test'
import { until } from '../../timing'
import type { Application } from './setup'

export type Row = Readonly<Record<string, unknown>>

/** Sends what the device changed and gets what others changed. */
export async function pull(app: Application): Promise<void> {
  await app.run(async (db) => {
    const logs = db.tables.filter(({ name }) => /^\$.+_mutations$/.test(name))
    for (let tries = 0; tries < 10; tries += 1) {
      await db.cloud.sync({ wait: true, purpose: 'pull' })
      // This may have been the end of a sync that began before the last change.
      const counts = await Promise.all(logs.map((log) => log.count()))
      if (counts.every((count) => count === 0)) return
    }
  })
}

/** Syncs until the device has nothing more to send of a table. */
export function untilSent(app: Application, table = 'items'): Promise<void> {
  return until(async () => {
    const isDone = await pull(app).then(
      () => true,
      () => false,
    )
    return (
      isDone && (await app.run((db, name) => db.table(name).count(), `$${table}_mutations`)) === 0
    )
  })
}

/** The rows of a table as the device has them. */
export function rows(app: Application, table = 'items'): Promise<Row[]> {
  return app.run((db, name) => db.table(name).toArray() as Promise<Row[]>, table)
}

/** Pulls until the device has these rows; the add-on applies an answer a moment after it came. */
export async function expectRows(
  app: Application,
  expected: readonly object[],
  table = 'items',
): Promise<void> {
  let found: readonly (Row | Error)[] = []
  await until(async () => {
    found = await pull(app).then(
      () => rows(app, table),
      (error: Error) => [error],
    )
    return found.length === expected.length && Bun.deepMatch(expected, found)
  }).catch(() => undefined)
  expect(found).toMatchObject([...expected])
}

/** The operations of the last answer, as `type table key`. */
export async function lastAnswer(app: Application): Promise<string[]> {
  const answer = await app.run((_db, _given, device) => device.syncs.at(-1)?.answer ?? '')
  const { changes } = JSON.parse(answer) as {
    changes: { table: string; muts: { type: string; keys: string[] }[] }[]
  }
  return changes.flatMap(({ table, muts }) =>
    muts.flatMap(({ type, keys }) => keys.map((key) => `${type} ${table} ${key}`)),
  )
}
