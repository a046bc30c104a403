import { describe, expect, test } from 'bun:test'
import { memoryOf } from '../../contract/fixture'
import { createLoginLog } from '../../../src/auth/person/login-log'
import type { Database } from '../../../src/domain/store/store'
import { admitUser } from '../../../src/domain/user/policy'
import { listEveryUser } from '../../../src/domain/user/list'
import { DAY, setupStore } from '../setup'
import { until } from '../../timing'

async function setupUsers(...ids: string[]) {
  const base = await setupStore()
  const database = await base.store.create('main')
  await database.write((tx) => {
    for (const id of ids) admitUser(tx, { id, email: null, name: null }, { action: 'prod' }, 1000)
  })
  return {
    ...base,
    database,
    lastLogin: async (id: string) => (await database.read((tx) => tx.users.find(id)))?.lastLogin,
  }
}

describe('the log of logins', () => {
  test('writes the newest login of each when it is flushed, and ends no certainty about tokens', async () => {
    await using users = await setupUsers('alice', 'bob')
    await using logins = createLoginLog(users.database, users.clock)
    const forgets = await memoryOf(users.database)
    logins.note('alice', 2000)
    logins.note('bob', 3000)
    logins.note('alice', 4000)
    expect(await users.lastLogin('alice')).toBe(1000)
    await logins.flush()
    expect(await forgets()).toBe(false)
    expect(await users.lastLogin('alice')).toBe(4000)
    expect(await users.lastLogin('bob')).toBe(3000)
  })

  test('writes what is pending when it is closed', async () => {
    await using users = await setupUsers('alice')
    {
      await using logins = createLoginLog(users.database, users.clock)
      logins.note('alice', 2000)
    }
    expect(await users.lastLogin('alice')).toBe(2000)
  })

  test('never goes back in time nor brings a deleted user back', async () => {
    await using users = await setupUsers('alice')
    await using logins = createLoginLog(users.database, users.clock)
    logins.note('alice', 500)
    logins.note('gone', 2000)
    await logins.flush()
    expect(await users.lastLogin('alice')).toBe(1000)
    expect(await users.database.read((tx) => listEveryUser(tx))).toHaveLength(1)
  })

  test('is right again after a clock that was far ahead', async () => {
    await using users = await setupUsers('alice')
    await using logins = createLoginLog(users.database, users.clock)
    const note = async () => {
      logins.note('alice', users.clock.now())
      await logins.flush()
      return await users.lastLogin('alice')
    }
    const begun = users.clock.now()
    users.clock.advance(400 * DAY)
    expect(await note()).toBe(begun + 400 * DAY)
    users.clock.advance(-400 * DAY)
    expect(await note()).toBe(begun)
    users.clock.advance(DAY)
    // The clock goes back before the login is written.
    logins.note('alice', users.clock.now())
    users.clock.advance(-DAY / 2)
    await logins.flush()
    expect(await users.lastLogin('alice')).toBe(begun + DAY / 2)
  })

  test('writes by itself once there are many', async () => {
    const ids = Array.from({ length: 500 }, (_, i) => `user${i}`)
    await using users = await setupUsers(...ids)
    await using logins = createLoginLog(users.database, users.clock)
    for (const id of ids) logins.note(id, 2000)
    await until(async () => (await users.lastLogin('user0')) === 2000)
    for (const id of ids) expect(await users.lastLogin(id)).toBe(2000)
  })

  test('ignores a failed write, and continues with the next', async () => {
    await using users = await setupUsers('alice', 'bob')
    const { database } = users
    let isFull = true
    const failing: Database = {
      ...database,
      write: (work) => (isFull ? Promise.reject(new Error('full')) : database.write(work)),
      [Symbol.asyncDispose]: async () => {},
    }
    await using logins = createLoginLog(failing, users.clock)
    logins.note('alice', 2000)
    await logins.flush()
    isFull = false
    logins.note('bob', 3000)
    await logins.flush()
    expect(await users.lastLogin('bob')).toBe(3000)
  })
})
