import { expect, test } from 'bun:test'
import { listEveryUser } from '../../src/domain/user/list'
import { DAY } from '../auth/setup'
import { putOne, user } from '../contract/user-fixture'
import { openOldDatabase } from './old-database'

test('users of an earlier version are listed, searched and sorted like others', async () => {
  await using old = await openOldDatabase(
    '0001_init',
    `INSERT INTO users VALUES
      ('zoe@example.com', 'prod', 2000, 2001, 2002, NULL, NULL, '{"displayName":"Zoë"}'),
      ('asa@example.com', 'prod', 1000, 1001, NULL, 9000, 8000, NULL),
      ('eva', 'eval', 3000, 3001, NULL, NULL, NULL, '{"email":"Éva@example.com"}')`,
  )
  const { database } = old
  await database.read(async (tx) => {
    const users = await listEveryUser(tx)
    const rest = { lastLogin: null, validUntil: null, evalUntil: null, deactivated: null }
    expect(users).toEqual([
      {
        ...rest,
        id: 'asa@example.com',
        incarnation: 1,
        type: 'prod',
        created: 1000,
        updated: 1001,
        validUntil: 9000,
        deactivated: 8000,
        data: null,
      },
      {
        ...rest,
        id: 'eva',
        incarnation: 3,
        type: 'eval',
        created: 3000,
        updated: 3001,
        // An evaluation had no end before: it gets one.
        evalUntil: 3000 + 30 * DAY,
        data: { email: 'Éva@example.com' },
      },
      {
        ...rest,
        id: 'zoe@example.com',
        incarnation: 2,
        type: 'prod',
        created: 2000,
        updated: 2001,
        lastLogin: 2002,
        data: { displayName: 'Zoë' },
      },
    ])
    const find = async (search: string) => (await listEveryUser(tx, { search })).map(({ id }) => id)
    expect(await find('zoe')).toEqual(['zoe@example.com'])
    expect(await find('zo')).toEqual(['zoe@example.com'])
    expect(await find('eva@')).toEqual(['eva'])
    const { users: byName } = await tx.users.list({
      order: 'displayName',
      isDescending: true,
      limit: 1,
    })
    expect(byName).toMatchObject([{ id: 'zoe@example.com' }])
  })
  const added = await putOne(database, user('new'))
  expect(added.incarnation).toBe(4)
})

test('refresh tokens of an earlier version stay with the user they were made for', async () => {
  const token = (hash: string, subject: string, created: number) =>
    `('${hash}', 'client', '${subject}', '{}', '[]', 'pem', ${created}, ${created})`
  await using old = await openOldDatabase(
    '0001_init',
    `INSERT INTO users VALUES ('alice', 'prod', 2000, 2000, NULL, NULL, NULL, NULL)`,
    `INSERT INTO refresh_tokens VALUES ${[
      token('hers', 'alice', 2000),
      token('of an earlier alice', 'alice', 1999),
      token('of nobody', 'bob', 3000),
      token('of the client', 'client', 1000),
    ].join(', ')}`,
  )
  const { database } = old
  const user = async (hash: string) =>
    (await database.read((tx) => tx.refreshTokens.find(hash)))?.user
  expect(await user('hers')).toBe(1)
  expect(await user('of the client')).toBeNull()
  expect(await user('of an earlier alice')).toBeUndefined()
  expect(await user('of nobody')).toBeUndefined()
  await database.write((tx) => tx.refreshTokens.removeOfUser(1))
  expect(await user('hers')).toBeUndefined()
  expect(await user('of the client')).toBeNull()
})
