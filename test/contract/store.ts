import { describe, expect, test } from 'bun:test'
import { declareIn, insert, keysOf, type OpenStore, refusalOf } from './fixture'
import { describeBlobs } from './blobs'
import { describeIdleBlobs } from './idle-blobs'
import { describeChanges } from './changes'
import { describeCodes } from './codes'
import { describeCommits } from './commits'
import { describeHandles } from './handles'
import { describeTexts } from './texts'
import { describeDuties } from './duties'
import { describeErasure } from './erasure'
import { describeImages } from './images'
import { describeIntegrity } from './integrity'
import { describeInvitations } from './invitations'
import { describeLogins } from './logins'
import { describeAudit } from './audit'
import { describeMails } from './mails'
import { describeManyRows } from './many-rows'
import { describeMemory } from './memory'
import { describeModel } from './model'
import { describeObjects } from './objects'
import { describePages } from './pages'
import { describeParts, describeSteps } from './parts'
import { describeRealms } from './realms'
import { describeRecords } from './records'
import { describeRefreshTokens } from './refresh-tokens'
import { describeRevisions } from './revisions'
import { describeSnapshots } from './snapshots'
import { describeHistory } from './history'
import { describeSync } from './sync'
import { describeTables } from './tables'
import { describeTime } from './time'
import { describeUnits } from './units'
import { describeUserLists } from './user-lists'
import { describeUsers } from './users'

/**
 * The contract of a storage engine (src/domain/store.ts, design.md §3): one that passes is done.
 * `openStore` opens an empty store in a place of its own.
 */
export function describeStore(name: string, openStore: OpenStore): void {
  describe(`${name} store`, () => {
    describeDatabases(openStore)
    describeUnits(openStore)
    describeParts(openStore)
    describeSteps(openStore)
    describeSnapshots(openStore)
    describeRevisions(openStore)
    describeCommits(openStore)
    describeMemory(openStore)
    describeTables(openStore)
    describeObjects(openStore)
    describePages(openStore)
    describeChanges(openStore)
    describeBlobs(openStore)
    describeIdleBlobs(openStore)
    describeRealms(openStore)
    describeErasure(openStore)
    describeIntegrity(openStore)
    describeImages(openStore)
    describeRecords(openStore)
    describeUsers(openStore)
    describeUserLists(openStore)
    describeLogins(openStore)
    describeTime(openStore)
    describeDuties(openStore)
    describeHandles(openStore)
    describeHistory(openStore)
    describeSync(openStore)
    describeManyRows(openStore)
    describeTexts(openStore)
    describeRefreshTokens(openStore)
    describeCodes(openStore)
    describeMails(openStore)
    describeAudit(openStore)
    describeInvitations(openStore)
    describeModel(openStore)
  })
}

function describeDatabases(openStore: OpenStore): void {
  describe('databases', () => {
    test('are listed by name and opened once', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      expect(await store.list()).toEqual([])
      const two = await store.create('two')
      await store.create('one')
      expect(await store.list()).toEqual(['one', 'two'])
      expect([await store.has('two'), await store.has('three')]).toEqual([true, false])
      expect(await store.open('two')).toBe(two)
      expect(two.name).toBe('two')
    })

    test('keep their id over a restart, and no two share one', async () => {
      await using fixture = await openStore()
      const one = await fixture.store.create('one')
      const two = await fixture.store.create('two')
      expect(one.id).not.toBe(two.id)
      expect(one.id).toMatch(/^[\w-]{16,}$/)
      const reopened = await (await fixture.reopen()).open('one')
      expect(reopened.id).toBe(one.id)
    })

    test('know nothing of each other', async () => {
      await using fixture = await openStore()
      const one = await fixture.store.create('one')
      const two = await fixture.store.create('two')
      const table = await declareIn(one, 'things')
      await insert(one, table, 'a')
      expect(await two.read((tx) => tx.tables.find('things'))).toBeUndefined()
      const other = await declareIn(two, 'things')
      expect(await keysOf(two, other)).toEqual([])
      expect(await keysOf(one, table)).toEqual(['a'])
    })

    test('are refused when they are unknown, taken or no name', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      await store.create('main')
      expect(await refusalOf(store.open('other'))).toBe('UNKNOWN_DATABASE')
      expect(await refusalOf(store.remove('other'))).toBe('UNKNOWN_DATABASE')
      expect(await refusalOf(store.create('main'))).toBe('CONFLICT')
      for (const name of ['', 'Main', '1st', '../main', 'a/b', 'health', 'x'.repeat(64)]) {
        expect(await refusalOf(store.create(name))).toBe('UNPROCESSABLE')
        expect(await refusalOf(store.open(name))).toBe('UNKNOWN_DATABASE')
        expect(await store.has(name)).toBe(false)
      }
      expect(await store.list()).toEqual(['main'])
    })

    test('are gone with everything when they are removed', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const old = await store.create('main')
      await insert(old, await declareIn(old, 'things'), 'a')
      await store.remove('main')
      expect(await store.list()).toEqual([])
      expect(await refusalOf(store.open('main'))).toBe('UNKNOWN_DATABASE')
      const young = await store.create('main')
      expect(young.id).not.toBe(old.id)
      expect(await young.read((tx) => tx.tables.find('things'))).toBeUndefined()
    })

    test('cannot be opened while they are being removed', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      await store.create('main')
      const removal = store.remove('main')
      expect(await refusalOf(store.open('main'))).toBe('UNKNOWN_DATABASE')
      await removal
      expect(await store.list()).toEqual([])
    })

    test('are compacted with all that they hold, and closed meanwhile', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const database = await store.create('main')
      const table = await declareIn(database, 'things')
      await insert(database, table, 'a', 'b')
      const { before, after } = await store.compact('main')
      expect([before > 0, after > 0]).toEqual([true, true])
      expect(await refusalOf(insert(database, table, 'c'))).toBe('BUSY')
      const compacted = await store.open('main')
      expect(compacted.id).toBe(database.id)
      expect(await keysOf(compacted, table)).toEqual(['a', 'b'])
      expect(await refusalOf(store.compact('other'))).toBe('UNKNOWN_DATABASE')
    })

    test('finish what waits before they close, and take nothing after', async () => {
      await using fixture = await openStore()
      const database = await fixture.store.create('main')
      const table = await declareIn(database, 'things')
      const waiting = ['a', 'b', 'c'].map((key) => insert(database, table, key))
      const closing = database[Symbol.asyncDispose]()
      expect(await refusalOf(insert(database, table, 'd'))).toBe('BUSY')
      expect(await refusalOf(database.read((tx) => tx.tables.list()))).toBe('BUSY')
      await Promise.all(waiting)
      await Promise.all([closing, database[Symbol.asyncDispose]()])
      const reopened = await fixture.store.open('main')
      expect(await keysOf(reopened, table)).toEqual(['a', 'b', 'c'])
    })

    test('finish the reads that have begun before they close', async () => {
      await using fixture = await openStore()
      const database = await fixture.store.create('main')
      const read = database.read((tx) => {
        for (let step = 0; step < 20; step += 1) tx.users.find(`user ${step}`)
        return 'done'
      })
      const closing = database[Symbol.asyncDispose]()
      expect(await read).toBe('done')
      await closing
    })
  })
}
