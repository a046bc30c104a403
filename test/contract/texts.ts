import { describe, expect, test } from 'bun:test'
import { PUBLIC_REALM_REF } from '../../src/domain/store/realms'
import { NOW, type OpenStore, createDatabase } from './fixture'
import { find, listPage, putOne, query, user } from './user-fixture'

/** In the order of their bytes in UTF-8; no locale and no UTF-16 sorts like that. */
const BY_BYTES = ['A', 'B', 'Z', '_', 'a', 'e\u0301', 'z', 'ß', 'é', '\uffee', '😀']

/** Texts as engines must compare and keep them. */
export function describeTexts(openStore: OpenStore): void {
  describe('texts', () => {
    test('are different when their bytes are, and sorted by these', async () => {
      expect(BY_BYTES.toSorted((one, other) => Buffer.compare(bytes(one), bytes(other)))).toEqual(
        BY_BYTES,
      )
      await using database = await createDatabase(openStore)
      for (const text of BY_BYTES.toReversed()) {
        await putOne(database, user(text))
        await database.write((tx) => {
          tx.origins.put({ id: text, created: NOW })
          tx.memberships.put(membership(text, null))
          tx.blobs.put({ id: text, hash: '', file: text, size: 1, type: '', created: NOW }, null)
        })
      }
      await database.read((tx) => {
        const { users } = listPage(tx, query({ order: 'userId', limit: 100 }))
        expect(users.map(({ id }) => id)).toEqual(BY_BYTES)
        expect(tx.origins.list().map(({ id }) => id)).toEqual(BY_BYTES)
        const members = tx.memberships.ofRealm(PUBLIC_REALM_REF, '', 100)
        expect(members.map(({ source }) => source)).toEqual(BY_BYTES)
        expect(tx.blobs.list('', 100).map(({ id }) => id)).toEqual(BY_BYTES)
        expect(tx.blobs.list('Z', 2).map(({ id }) => id)).toEqual(['_', 'a'])
        expect(tx.blobs.byFile(undefined, 100).map(({ file }) => file)).toEqual(BY_BYTES)
      })
    })

    test('may have U+0000 in e-mails, which end there for nobody', async () => {
      await using database = await createDatabase(openStore)
      const data = { email: 'al\u0000ice@x.org', displayName: 'Al\u0000ice' }
      await putOne(database, user('alice', { data }))
      await database.write((tx) => tx.memberships.put(membership('m', 'al\u0000ice@x.org')))
      expect((await find(database, 'alice'))?.data).toEqual(data)
      await database.read((tx) => {
        for (const start of ['al', 'al\u0000', '']) {
          expect(tx.users.ofEmail(start, 10)).toEqual([])
          expect(tx.memberships.ofSubject(null, start).open).toEqual([])
        }
        expect(tx.memberships.ofRealm(PUBLIC_REALM_REF, '', 100)).toMatchObject([{ source: 'm' }])
      })
      await database.write((tx) => {
        tx.memberships.remove('m')
        tx.users.remove('alice')
      })
      expect(await find(database, 'alice')).toBeUndefined()
    })
  })
}

function membership(source: string, email: string | null) {
  return {
    source,
    realm: PUBLIC_REALM_REF,
    userId: email === null ? 'alice' : null,
    email,
    accepted: true,
    rejected: false,
    permissions: {},
    roles: [],
  }
}

function bytes(text: string): Buffer {
  return Buffer.from(text)
}
