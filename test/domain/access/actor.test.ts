import { describe, expect, test } from 'bun:test'
import {
  type Actor,
  ANONYMOUS,
  PUBLIC_CLIENT,
  requireStanding,
  requireWriter,
  SERVER,
  type TokenFacts,
  tokenFacts,
} from '../../../src/domain/access/actor'
import { createClient, revokeClient, rotateClient } from '../../../src/domain/database/client'
import type { Database } from '../../../src/domain/store/store'
import type { UserFields } from '../../../src/domain/store/users'
import { codeOf, DAY, HOUR, setupStore } from '../../auth/setup'
import { putOne, user } from '../../contract/user-fixture'

async function setup() {
  const base = await setupStore()
  const { clock } = base
  const database = await base.store.create('main')
  const scopes = ['ACCESS_DB', 'IMPERSONATE'] as const
  const { clientId } = await database.write((tx) => createClient(tx, clock, { scopes }))
  const { incarnation } = await putOne(database, user('alice'))
  const as = (changes: Partial<TokenFacts> = {}, subject = 'alice'): Actor => ({
    ...ANONYMOUS,
    subject,
    credential: {
      facts: tokenFacts({ subject, clientId, login: null, incarnation, ...changes }),
      verified: clock.now(),
      expires: clock.now() + HOUR,
    },
  })
  return {
    clock,
    database,
    clientId,
    as,
    changeAlice: (changes: Partial<UserFields>) =>
      database.write((tx) => tx.users.put({ ...user('alice'), ...changes })),
    [Symbol.asyncDispose]: () => base[Symbol.asyncDispose](),
  }
}

const inRead = (database: Database, actor: Actor) =>
  codeOf(() => database.read((tx) => requireStanding(tx, actor)))
const inWrite = (database: Database, actor: Actor) =>
  codeOf(() => database.write((tx) => requireStanding(tx, actor)))

/** Refused in reads and in writes, with the same code. */
async function expectRefused(database: Database, actor: Actor, code: string): Promise<void> {
  expect(await inRead(database, actor)).toBe(code as never)
  expect(await inWrite(database, actor)).toBe(code as never)
}

describe('a caller stands', () => {
  test('while client and user do', async () => {
    await using world = await setup()
    const { database } = world
    const person = await database.read((tx) => requireStanding(tx, world.as()))
    expect(person).toMatchObject({ user: { id: 'alice' }, ends: Infinity })
    const client = world.as({ incarnation: null }, world.clientId)
    const itself = await database.write((tx) => requireStanding(tx, client))
    expect(itself.user).toBeUndefined()
    const own = world.as({ clientId: PUBLIC_CLIENT })
    expect(await database.read((tx) => requireStanding(tx, own))).toMatchObject(person)
  })

  test('without a token, as the anonymous caller and the server itself', async () => {
    await using world = await setup()
    for (const actor of [ANONYMOUS, SERVER]) {
      const read = world.database.read((tx) => requireStanding(tx, actor))
      expect(await read.catch((error: unknown) => error)).not.toBeInstanceOf(Error)
      const written = world.database.write((tx) => requireWriter(tx, actor, world.clock.now()))
      expect(await written.catch((error: unknown) => error)).not.toBeInstanceOf(Error)
    }
  })
})

describe('a caller is refused in every transaction after the commit (promise 15)', () => {
  test('that revokes the client', async () => {
    await using world = await setup()
    const { database } = world
    await database.read((tx) => requireStanding(tx, world.as()))
    await database.write((tx) => revokeClient(tx, world.clientId))
    await expectRefused(database, world.as(), 'INVALID_TOKEN')
  })

  test('that deletes the user, also when the id has a new user', async () => {
    await using world = await setup()
    const { database } = world
    await database.read((tx) => requireStanding(tx, world.as()))
    await database.write((tx) => tx.users.remove('alice'))
    await expectRefused(database, world.as(), 'INVALID_TOKEN')
    const { incarnation } = await putOne(database, user('alice'))
    await expectRefused(database, world.as(), 'INVALID_TOKEN')
    await database.read((tx) => requireStanding(tx, world.as({ incarnation })))
  })

  test('that deactivates the user, until they are active again', async () => {
    await using world = await setup()
    const { database } = world
    await database.read((tx) => requireStanding(tx, world.as()))
    await world.changeAlice({ deactivated: 1 })
    await expectRefused(database, world.as(), 'USER_DEACTIVATED')
    await world.changeAlice({ deactivated: null })
    await database.read((tx) => requireStanding(tx, world.as()))
  })

  test('that revokes the login, and no other login', async () => {
    await using world = await setup()
    const { database, clock } = world
    const own = { clientId: PUBLIC_CLIENT, login: 'one' }
    await database.read((tx) => requireStanding(tx, world.as(own)))
    await database.write((tx) => tx.logins.revoke('one', clock.now() + DAY))
    await expectRefused(database, world.as(own), 'INVALID_TOKEN')
    await database.read((tx) => requireStanding(tx, world.as({ ...own, login: 'two' })))
  })
})

test('a caller is refused in the unit that revokes the client', async () => {
  await using world = await setup()
  const { database } = world
  await database.read((tx) => requireStanding(tx, world.as()))
  const refused = await codeOf(() =>
    database.write((tx) => {
      requireStanding(tx, world.as())
      revokeClient(tx, world.clientId)
      requireStanding(tx, world.as())
    }),
  )
  expect(refused).toBe('INVALID_TOKEN')
  await database.read((tx) => requireStanding(tx, world.as()))
})

test('a caller is refused when the key of the client expires, though nothing is committed then', async () => {
  await using world = await setup()
  const { database, clock } = world
  await database.write((tx) => rotateClient(tx, clock, world.clientId, 1))
  clock.advance(DAY - 1)
  const before = world.as()
  await database.read((tx) => requireStanding(tx, before))
  clock.advance(1)
  await expectRefused(database, world.as(), 'INVALID_TOKEN')
})

test('a caller is looked up once until policy changes', async () => {
  await using world = await setup()
  const { database } = world
  let lookups = 0
  const look = () =>
    database.read((tx) => {
      const users = { ...tx.users, find: (id: string) => (lookups++, tx.users.find(id)) }
      const counting = Object.create(tx, { users: { value: users } }) as typeof tx
      return requireStanding(counting, world.as())
    })
  await look()
  await look()
  expect(lookups).toBe(1)
  await world.changeAlice({ type: 'prod' })
  await look()
  expect(lookups).toBe(2)
})

test('a writer needs a licence, a reader none', async () => {
  await using world = await setup()
  const { database, clock } = world
  await world.changeAlice({ validUntil: clock.now() + DAY })
  const write = () => database.write((tx) => requireWriter(tx, world.as(), clock.now()))
  await write()
  clock.advance(DAY)
  expect(await codeOf(write)).toBe('LICENSE_EXPIRED')
  await database.read((tx) => requireStanding(tx, world.as()))
})
