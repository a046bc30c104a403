import { describe, expect, test } from 'bun:test'
import type { CommitUnit, Database, ReadTx } from '../../src/domain/store/store'
import {
  declareIn,
  type DatabaseFixture,
  find,
  insert,
  keysOf,
  NOW,
  type OpenStore,
  setupDatabase,
  update,
} from './fixture'

/** Several handles on one database, in one process or in several. */
export function describeHandles(openStore: OpenStore): void {
  describe('two handles on one database', () => {
    test('know it by the same id, and each reads at once what the other has answered', async () => {
      await using fixture = await setupDatabase(openStore)
      const [one, other] = await handlesOf(fixture)
      expect(other.id).toBe(one.id)
      const table = await declareIn(one, 'things')
      expect(await other.read((tx) => tx.tables.find('things'))).toEqual(table)
      for (let n = 0; n < 20; n += 1) {
        const [writer, reader] = n % 2 === 0 ? [one, other] : [other, one]
        await insert(writer, table, `k${n}`)
        expect((await find(reader, table, `k${n}`))?.key).toBe(`k${n}`)
      }
      expect(await keysOf(other, table)).toEqual(await keysOf(one, table))
    })

    test('do not mix their units', async () => {
      await using fixture = await setupDatabase(openStore)
      const handles = await handlesOf(fixture)
      const table = await declareIn(fixture.database, 'things')
      await insert(fixture.database, table, 'count')
      await fixture.database.write((tx) => update(tx, table, 'count', { value: '0' }))
      const increment = (database: Database) =>
        database.write((tx) => {
          const found = tx.objects.find(table, 'count')
          update(tx, table, 'count', { value: String(Number(found?.value) + 1) })
        })
      await Promise.all(Array.from({ length: 100 }, (_, n) => increment(handles[n % 2]!)))
      for (const handle of handles) expect((await find(handle, table, 'count'))?.value).toBe('100')
    })

    test('each hear of all commits, in order, and can ask for those they missed', async () => {
      await using fixture = await setupDatabase(openStore)
      const handles = await handlesOf(fixture)
      const table = await declareIn(fixture.database, 'things')
      const start = await fixture.database.read((tx) => tx.revision())
      const heard = handles.map((handle) => {
        const units: CommitUnit[] = []
        handle.onCommit((commit) => units.push(...commit.units))
        return units
      })
      await Promise.all(
        Array.from({ length: 50 }, (_, n) => insert(handles[n % 2]!, table, `k${n}`)),
      )
      const revisions = Array.from({ length: 50 }, (_, n) => start + 1 + n)
      for (const units of heard) {
        while (units.length < 50) await Bun.sleep(1)
        expect(units.map(({ revision }) => revision)).toEqual(revisions)
      }
      for (const handle of handles) {
        const commits = (await handle.commitsAfter(start)) ?? []
        expect(commits.flatMap(({ units }) => units)).toEqual(heard[0]!)
      }
    })

    test('make no id twice', async () => {
      await using fixture = await setupDatabase(openStore)
      const handles = await handlesOf(fixture)
      const ids = await Promise.all(
        Array.from({ length: 100 }, (_, n) =>
          handles[n % 2]!.write((tx) => tx.newId('tsk', 'rlm-a')),
        ),
      )
      expect(new Set(ids).size).toBe(100)
    })

    test('remember nothing that the other has changed', async () => {
      await using fixture = await setupDatabase(openStore)
      const [one, other] = await handlesOf(fixture)
      for (let n = 0; n < 10; n += 1) {
        expect(await one.read(countOrigins)).toBe(n)
        await other.write((tx) => tx.origins.put({ id: `https://${n}.example`, created: NOW }))
      }
      expect(await one.read(countOrigins)).toBe(10)
    })
  })
}

async function handlesOf(fixture: DatabaseFixture): Promise<[Database, Database]> {
  return [fixture.database, await (await fixture.another()).open('main')]
}

function countOrigins(tx: ReadTx) {
  return tx.remember('origins', () => tx.origins.list().length)
}
