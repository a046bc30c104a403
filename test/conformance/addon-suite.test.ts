import type { Dexie, DexieConstructor } from 'dexie'
import { describe, expect, test } from 'bun:test'
import { satchelJson } from '../binary/setup'
import { share } from '../setup'
import type { Device } from './addon/messages'
import { openApplication, setupServed } from './addon/setup'

/**
 * The cases of the add-on's own tests that need a server (conformance.md 103): a database of plain Dexie
 * becomes one of the cloud, and the issues 2185 and 2228 of its repository.
 */

const ANNA = 'anna@demo.local'
const BERT = 'bert@demo.local'

const shared = share(async () => {
  await using undo = new AsyncDisposableStack()
  const served = undo.use(await setupServed())
  const demoUsers = { [ANNA]: {}, [BERT]: {} }
  await Bun.write(`${served.surroundings.cwd}/users.json`, JSON.stringify({ demoUsers }))
  await satchelJson(['import', 'users.json'], served.surroundings)
  const app = undo.use(await openApplication(served.main))
  const parts = undo.move()
  return {
    /** Runs a function in the application, where Dexie and the add-on are at hand. */
    run: <T, G extends object>(
      work: (db: Dexie, given: G & Given, device: Device) => Promise<T>,
      given: G,
    ) => app.run(work, { ...given, databaseUrl: served.main, anna: ANNA, bert: BERT }),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
})

interface Given {
  readonly databaseUrl: string
  readonly anna: string
  readonly bert: string
}

describe('a database of plain Dexie', () => {
  test.each([
    ['after an upgrade of its own', 'steps', true],
    ['while it is upgraded', 'leap', true],
    ['when it is new', 'fresh', false],
  ] as const)('103: goes to the cloud %s', async (_, name, isOld) => {
    const { run } = shared()
    const { user, friends, upgrades } = await run(goToTheCloud, { name, isOld })
    expect(user).toBe(ANNA)
    const place = { owner: ANNA, realmId: ANNA }
    const expected = ['1', '2'].map((number) => {
      const guid = `${number} ${name}`
      return { guid, name: `Name of ${guid}`, ...place }
    })
    expect(friends.filter(({ guid }) => guid.endsWith(name))).toEqual(isOld ? expected : [])
    expect(upgrades).toBe(isOld ? 1 : 0)
  })
})

/** Makes it with the versions 1 and maybe 2, and opens it with the add-on. */
async function goToTheCloud(
  app: Dexie,
  { name, isOld, databaseUrl, anna }: Given & { readonly name: string; readonly isOld: boolean },
  { dexieCloud }: Device,
) {
  const Plain = app.constructor as DexieConstructor
  let upgrades = 0
  const upgrade = (db: Dexie) =>
    db
      .version(2)
      .stores({ friends: 'guid, name' })
      .upgrade(async (tx) => {
        upgrades += 1
        await tx
          .table('friends')
          .toCollection()
          .modify((friend: { guid: string; name?: string }) => {
            friend.name = `Name of ${friend.guid}`
          })
      })
  if (isOld) {
    const first = new Plain(name, { addons: [] })
    first.version(1).stores({ friends: 'guid' })
    await first.table('friends').bulkAdd([{ guid: `1 ${name}` }, { guid: `2 ${name}` }])
    first.close()
  }
  if (name === 'steps') {
    const second = new Plain(name, { addons: [] })
    upgrade(second)
    await second.open()
    second.close()
  }
  const cloud = new Plain(name, { addons: [dexieCloud] })
  cloud.version(10).stores({ friends: 'guid, name' })
  upgrade(cloud)
  cloud.cloud.configure({
    databaseUrl,
    requireAuth: { email: anna, grant_type: 'demo' },
    nameSuffix: false,
    disableWebSocket: true,
  })
  await cloud.open()
  const friends = (await cloud.table('friends').toArray()) as { readonly guid: string }[]
  const user = cloud.cloud.currentUserId
  cloud.close()
  return { user, friends, upgrades }
}

test('103: changes inside an object that does not exist cost nothing (issue 2228)', async () => {
  const { run } = shared()
  const drinks = await run(async (app, { databaseUrl, anna }, { dexieCloud }) => {
    const Plain = app.constructor as DexieConstructor
    const db = new Plain('drinks', { addons: [dexieCloud] })
    db.version(1).stores({ drinks: '@id' })
    const requireAuth = { email: anna, grant_type: 'demo' } as const
    db.cloud.configure({ databaseUrl, requireAuth, disableWebSocket: true })
    await db.open()
    const { PropModification } = Plain as unknown as {
      PropModification: new (spec: object) => unknown
    }
    const change = async (id: string, spec: object) => {
      await db.table('drinks').update(id, { names: new PropModification(spec) })
    }
    await change('drnNone', { add: ['coffee'] })
    await change('drnNone', { remove: ['coffee'] })
    await db.cloud.sync({ purpose: 'push', wait: true })
    const id = (await db.table('drinks').add({ names: ['coffee', 'tea'] })) as string
    await change(id, { add: ['milk'] })
    await change(id, { remove: ['milk'] })
    await db.cloud.sync({ purpose: 'push', wait: true })
    const all = await db.table('drinks').toArray()
    db.close()
    return all
  }, {})
  expect(drinks).toMatchObject([{ names: ['coffee', 'tea'] }])
})

test('99, 103: objects that are imported again after their deletion stay (issue 2185)', async () => {
  const { run } = shared()
  const { cleared, imported, synced } = await run(
    async (app, { databaseUrl, anna, bert }, { dexieCloud }) => {
      const db = new (app.constructor as DexieConstructor)('again', { addons: [dexieCloud] })
      db.version(1).stores({ parcels: '@id, name' })
      const requireAuth = { email: anna, grant_type: 'demo' } as const
      db.cloud.configure({ databaseUrl, requireAuth, disableWebSocket: true })
      await db.open()
      const [parcels, realms, members] = [
        db.table('parcels'),
        db.table('realms'),
        db.table('members'),
      ]
      await parcels.add({ name: 'one' })
      const shareable = (await parcels.add({ name: 'two' })) as string
      await db.transaction('rw', parcels, members, realms, async () => {
        const realmId = await realms.add({ name: 'Shared', realmId: 'rlm~again' })
        const permissions = { manage: '*' }
        await members.bulkAdd([
          { realmId, email: anna, permissions },
          { realmId, email: bert, permissions },
        ])
        await parcels.update(shareable, { realmId })
      })
      await db.cloud.sync()
      const text = JSON.stringify(await parcels.toArray())
      await parcels.clear()
      await db.cloud.sync()
      const afterClear = await parcels.count()
      await parcels.bulkAdd(JSON.parse(text) as object[])
      const afterImport = await parcels.count()
      await db.cloud.sync({ purpose: 'push', wait: true })
      await db.cloud.sync({ purpose: 'pull', wait: true })
      const afterSync = await parcels.toArray()
      db.close()
      return { cleared: afterClear, imported: afterImport, synced: afterSync }
    },
    {},
  )
  expect([cleared, imported]).toEqual([0, 2])
  const names = (synced as { readonly name: string }[]).map(({ name }) => name)
  expect(names.toSorted()).toEqual(['one', 'two'])
})
