import { describe, expect, test } from 'bun:test'
import { PUBLIC_REALM_REF } from '../../src/domain/store/realms'
import type { Commit, Database, WriteTx } from '../../src/domain/store/store'
import {
  declareIn,
  ensureRealm,
  find,
  fresh,
  insert,
  NOW,
  type OpenStore,
  remove,
  setupDatabase,
  update,
} from './fixture'

/** `onCommit`: one announcement for each commit that somebody waits for. */
export function describeCommits(openStore: OpenStore): void {
  describe('announcements', () => {
    test('tell the revision and the realms that changed', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'rlm-a')
      using heard = listen(database)
      await insert(database, table, 'a')
      const { revision } = (await find(database, table, 'a')) ?? { revision: 0 }
      await database.write((tx) => update(tx, table, 'a', { realm }))
      await database.write((tx) => remove(tx, table, 'a'))
      const common = { database: 'main', jobs: false, mails: false, contentSpent: false }
      const changes = heard.changes.map(({ realms, ...rest }) => {
        return { ...rest, realms: realms.toSorted((one, other) => one - other) }
      })
      expect(changes).toEqual([
        { ...common, revision, realms: [PUBLIC_REALM_REF] },
        { ...common, revision: revision + 1, realms: [PUBLIC_REALM_REF, realm] },
        { ...common, revision: revision + 2, realms: [realm] },
      ])
    })

    test('tell that a realm came to life or is to be erased', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      using heard = listen(database)
      const realm = await ensureRealm(database, 'rlm-a')
      await ensureRealm(database, 'rlm-a')
      await database.write((tx) => tx.realms.markErasing(realm))
      await database.write((tx) => tx.realms.markErasing(realm))
      expect(heard.changes.map(({ realms }) => realms)).toEqual([[realm], [realm]])
    })

    test('tell that a job was put down, moved on or ended', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      using heard = listen(database)
      const job = {
        id: 'erase-1',
        kind: 'erase',
        state: {},
        done: 0,
        total: null,
        created: NOW,
        failure: null,
      } as const
      await database.write((tx) => tx.jobs.put(job))
      await database.write((tx) => tx.jobs.put({ ...job, done: 1 }))
      await database.write((tx) => tx.jobs.remove(job.id))
      await database.write((tx) => tx.jobs.remove(job.id))
      expect(heard.changes.map(({ jobs, realms }) => ({ jobs, realms }))).toEqual(
        Array.from({ length: 3 }, () => ({ jobs: true, realms: [] })),
      )
    })

    test('come once for a commit, however many units share it, and none is left out', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      using heard = listen(database)
      const keys = Array.from({ length: 100 }, (_, n) => `k${n}`)
      await Promise.all(keys.map((key) => insert(database, table, key)))
      const revisions = heard.changes.map(({ revision }) => revision)
      expect(revisions.length).toBeWithin(1, 51)
      expect(new Set(revisions).size).toBe(revisions.length)
      expect(revisions.toSorted((one, other) => one - other)).toEqual(revisions)
      expect(revisions.at(-1)).toBe(await database.read((tx) => tx.revision()))
    })

    test('do not come for units without a listener', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      using heard = listen(database)
      await database.write((tx) => tx.origins.put({ id: 'https://a.example', created: NOW }))
      await database.write((tx) => tx.objects.count(table))
      await database.write((tx) => tx.newId('x', 'rlm-public'))
      expect(heard.changes).toEqual([])
    })

    test('leave out what a unit or a part did that failed', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'rlm-a')
      using heard = listen(database)
      const put = (tx: WriteTx, key: string) => tx.objects.put(table, [fresh(key, { realm })], NOW)
      const failing = database.write(async (tx) => {
        await put(tx, 'a')
        await tx.jobs.remove('none')
        throw new Error('expected')
      })
      await failing.catch(() => undefined)
      expect(heard.changes).toEqual([])
      await database.write(async (tx) => {
        await tx.objects.put(table, [fresh('b')], NOW)
        const part = tx.attempt(async () => {
          await put(tx, 'a')
          throw new Error('expected')
        })
        await part.catch(() => undefined)
      })
      expect(heard.changes.map(({ realms }) => realms)).toEqual([[PUBLIC_REALM_REF]])
    })

    test('come when the change can be read, and before the unit is answered', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const reads: Promise<boolean>[] = []
      let isAnswered = false
      using _ = stopping(
        database.onCommit(({ revision }) => {
          expect(isAnswered).toBe(false)
          reads.push(database.read(async (tx) => (await tx.revision()) >= revision))
        }),
      )
      await insert(database, table, 'a').finally(() => {
        isAnswered = true
      })
      expect(await Promise.all(reads)).toEqual([true])
    })

    test('stop for a listener that is done, and harm nobody when one throws', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const stopThrowing = database.onCommit(() => {
        throw new Error('a listener of the contract suite')
      })
      const heard = listen(database)
      await insert(database, table, 'a')
      await insert(database, table, 'b')
      expect(heard.changes).toHaveLength(2)
      stopThrowing()
      heard[Symbol.dispose]()
      await insert(database, table, 'c')
      expect(heard.changes).toHaveLength(2)
    })
  })
}

interface Heard extends Disposable {
  readonly changes: readonly Commit[]
}

function listen(database: Database): Heard {
  const changes: Commit[] = []
  return { changes, ...stopping(database.onCommit((change) => changes.push(change))) }
}

function stopping(stop: () => void): Disposable {
  return { [Symbol.dispose]: stop }
}
