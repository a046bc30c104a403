import { describe, expect, test } from 'bun:test'
import type { Database } from '../../src/domain/store/store'
import { NOW, type OpenStore, setupDatabase } from './fixture'
import type {
  Job,
  Provider,
  Origin,
  Client,
  SigningKey,
  Setting,
  Records,
  RecordWriter,
} from '../../src/domain/store/records'

/** The small nouns, found by id and read whole. */
export function describeRecords(openStore: OpenStore): void {
  describe('records', () => {
    testRecords(openStore, 'clients', {
      first: {
        id: 'c1',
        secretHash: 'hash',
        scopes: ['ACCESS_DB', 'GLOBAL_READ'],
        name: 'A client',
        email: null,
        created: NOW,
        expires: NOW + 1,
      },
      changed: {
        id: 'c1',
        secretHash: 'other',
        scopes: [],
        name: null,
        email: null,
        created: 0,
        expires: null,
      },
    })
    testRecords(openStore, 'keys', {
      first: {
        id: 'k1',
        state: 'retired',
        publicKey: '{"kty":"EC"}',
        sealedPrivateKey: 'sealed',
        created: NOW,
        retired: NOW + 1,
      },
      changed: {
        id: 'k1',
        state: 'next',
        publicKey: '{}',
        sealedPrivateKey: '',
        created: NOW,
        retired: null,
      },
    })
    testRecords(openStore, 'origins', {
      first: { id: 'https://a.example', created: NOW },
      changed: { id: 'https://a.example', created: NOW + 1 },
    })
    testRecords(openStore, 'providers', {
      first: {
        id: 'acme',
        type: 'custom-oauth2',
        displayName: 'Äcme',
        iconUrl: 'https://acme.example/icon.png',
        clientId: 'satchel',
        sealedSecret: 'sealed',
        scopes: ['openid', 'email'],
        options: { issuer: 'https://acme.example', trustsEmail: true },
        created: NOW,
      },
      changed: {
        id: 'acme',
        type: 'github',
        displayName: 'GitHub',
        iconUrl: null,
        clientId: 'other',
        sealedSecret: null,
        scopes: null,
        options: {},
        created: NOW + 1,
      },
    })
    testRecords(openStore, 'settings', {
      first: { id: 'policy', value: { newUsers: 'eval', deep: { list: [1, null] } } },
      changed: { id: 'policy', value: {} },
    })
    testRecords(openStore, 'jobs', {
      first: {
        id: 'index-1',
        kind: 'index',
        state: { table: 'things', after: 7 },
        done: 7,
        total: 100,
        created: NOW,
        failure: 'It failed',
      },
      changed: {
        id: 'index-1',
        kind: 'drop-index',
        state: {},
        done: 8,
        total: null,
        created: NOW,
        failure: null,
      },
    })
  })
}

interface Nouns {
  readonly clients: Client
  readonly keys: SigningKey
  readonly origins: Origin
  readonly providers: Provider
  readonly settings: Setting
  readonly jobs: Job
}
type Readers = { readonly [Name in keyof Nouns]: Records<Nouns[Name]> }
type Writers = { readonly [Name in keyof Nouns]: RecordWriter<Nouns[Name]> }

/** Two states of one record that differ in every property but the id. */
interface Examples<T> {
  readonly first: T
  readonly changed: T
}

function testRecords<Name extends keyof Nouns>(
  openStore: OpenStore,
  name: Name,
  { first, changed }: Examples<Nouns[Name]>,
): void {
  const reader = (tx: Readers) => tx[name]
  const writer = (tx: Writers) => tx[name]
  test(`of ${name} are put, found, replaced, listed and removed`, async () => {
    await using fixture = await setupDatabase(openStore)
    const { database } = fixture
    const { id } = first
    const findIn = (from: Database) => from.read((tx) => reader(tx).find(id))
    expect(await findIn(database)).toBeUndefined()
    await database.writeSteps(async (step) => {
      await step((tx) => {
        writer(tx).put(first)
        expect(writer(tx).find(id)).toEqual(first)
      })
      expect(await findIn(database)).toBeUndefined()
    })
    expect(await findIn(database)).toEqual(first)
    await database.write((tx) => writer(tx).put(changed))
    expect(await findIn(await (await fixture.crash()).open('main'))).toEqual(changed)
    await database.write((tx) => writer(tx).put({ ...first, id: 'another' }))
    const listed = await database.read((tx) => reader(tx).list())
    expect(listed.map((record) => record.id).toSorted()).toEqual(['another', id].toSorted())
    expect(listed.find((record) => record.id === id)).toEqual(changed)
    expect(await database.write((tx) => writer(tx).remove(id))).toBe(true)
    expect(await database.write((tx) => writer(tx).remove(id))).toBe(false)
    const again = await (await fixture.reopen()).open('main')
    expect(await again.read((tx) => reader(tx).list())).toEqual([{ ...first, id: 'another' }])
  })
}
