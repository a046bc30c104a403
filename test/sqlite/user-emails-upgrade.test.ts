import { describe, expect, test } from 'bun:test'
import { findUsersOfEmail, listEveryUser } from '../../src/domain/user/list'
import { openOldDatabase, VERSIONS } from './old-database'

const EARLIER = VERSIONS.slice(0, VERSIONS.indexOf('0011_user_emails'))
const [FIRST, ...FOLDED] = EARLIER

const PEOPLE: readonly (readonly [id: string, data: string | null])[] = [
  ['u1', '{"email":" ÉVA@Example.com ","displayName":"Eva"}'],
  ['u2', '{"email":"x.éva@example.com"}'],
  ['bob@example.com', '{"email":"Bob@example.com","displayName":"Bob"}'],
  ['u3', '{"email":7}'],
  ['u4', null],
  ['u5', '{"email":"bob@example.com"}'],
]

async function open(version: string) {
  const users = PEOPLE.map(([id, data]) => {
    const text = data === null ? 'NULL' : `'${data}'`
    return `('${id}', 'prod', 1, 1, NULL, NULL, ${version === FIRST ? '' : 'NULL, '}NULL, ${text})`
  })
  const columns = version === FIRST ? '' : ', eval_until'
  return await openOldDatabase(
    version,
    `INSERT INTO users (id, type, created, updated, last_login, valid_until${columns}, deactivated, data) VALUES ${users.join(', ')}`,
    // As the program of that version left them.
    ...(version === FIRST
      ? []
      : [
          "UPDATE users SET name = NULL, search = 'eva ' || id || char(10) || char(10)",
          'INSERT INTO user_search (rowid, text) SELECT number, search FROM users',
        ]),
  )
}

describe.each(EARLIER)('people of %s', (version) => {
  test('are found by their address', async () => {
    await using old = await open(version)
    const found = async (email: string) =>
      (await old.database.read((tx) => findUsersOfEmail(tx, email))).map(({ id }) => id)
    expect(await found('éva@example.com')).toEqual(['u1'])
    expect(await found('x.éva@example.com')).toEqual(['u2'])
    expect(await found('bob@example.com')).toEqual(['bob@example.com'])
    expect(await found('7')).toEqual([])
  })
})

test.each(FOLDED)('people of %s are searched by what they are, and each once', async (version) => {
  await using old = await open(version)
  const find = async (search: string) =>
    (await old.database.read((tx) => listEveryUser(tx, { search }))).map(({ id }) => id)
  // What was not folded again is as it was.
  expect(await find('eva')).toEqual(['bob@example.com', 'u1', 'u2', 'u3', 'u4'])
  expect(await find('eva@ex')).toEqual(['u1', 'u2'])
  expect(await find('eva u1')).toEqual([])
})
