import { expect, test } from 'bun:test'
import { openOldDatabase, VERSIONS } from './old-database'

const WITH_INVITATIONS = VERSIONS.slice(
  VERSIONS.indexOf('0008_invitations'),
  VERSIONS.indexOf('0012_inviters'),
)

test.each(WITH_INVITATIONS)('invitations of %s go on, and tell no inviter', async (version) => {
  await using old = await openOldDatabase(
    version,
    `INSERT INTO invitations VALUES
      ('hash', 'mmb1', 7, 'bob@example.com', 'alice@example.com', NULL, 'main', 10, 20)`,
  )
  const found = await old.database.read((tx) => tx.invitations.find('hash'))
  expect(found).toEqual({
    id: 'hash',
    member: 'mmb1',
    realm: 7,
    email: 'bob@example.com',
    inviter: '',
    origin: null,
    originName: 'main',
    sent: 10,
    expires: 20,
  })
})
