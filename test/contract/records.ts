import { describe, expect, test } from 'bun:test'
import type { Client } from '../../src/domain/client'
import type { SigningKey } from '../../src/domain/credential'
import type { Job } from '../../src/domain/job'
import type { Origin } from '../../src/domain/origin'
import type { Provider } from '../../src/domain/provider'
import type { Setting } from '../../src/domain/setting'
import type { Database, ReadTx, Records, RecordWriter, WriteTx } from '../../src/domain/store'
import { NOW, type OpenStore, setupDatabase } from './fixture'

/** The small nouns, found by id and read whole. */
export function describeRecords(openStore: OpenStore): void {
  const clients: Examples<Client> = {
    name: 'clients',
    reader: (tx) => tx.clients,
    writer: (tx) => tx.clients,
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
  }
  const keys: Examples<SigningKey> = {
    name: 'keys',
    reader: (tx) => tx.keys,
    writer: (tx) => tx.keys,
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
  }
  const origins: Examples<Origin> = {
    name: 'origins',
    reader: (tx) => tx.origins,
    writer: (tx) => tx.origins,
    first: { id: 'https://a.example', created: NOW },
    changed: { id: 'https://a.example', created: NOW + 1 },
  }
  const providers: Examples<Provider> = {
    name: 'providers',
    reader: (tx) => tx.providers,
    writer: (tx) => tx.providers,
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
  }
  const settings: Examples<Setting> = {
    name: 'settings',
    reader: (tx) => tx.settings,
    writer: (tx) => tx.settings,
    first: { id: 'policy', value: { newUsers: 'eval', deep: { list: [1, null] } } },
    changed: { id: 'policy', value: {} },
  }
  const jobs: Examples<Job> = {
    name: 'jobs',
    reader: (tx) => tx.jobs,
    writer: (tx) => tx.jobs,
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
  }

  describe('records', () => {
    describeNoun(openStore, clients)
    describeNoun(openStore, keys)
    describeNoun(openStore, origins)
    describeNoun(openStore, providers)
    describeNoun(openStore, settings)
    describeNoun(openStore, jobs)
  })
}

interface Examples<T extends { readonly id: string }> {
  readonly name: string
  readonly reader: (tx: ReadTx) => Records<T>
  readonly writer: (tx: WriteTx) => RecordWriter<T>
  /** Two states of one record that differ in every property but the id. */
  readonly first: T
  readonly changed: T
}

function describeNoun<T extends { readonly id: string }>(
  openStore: OpenStore,
  { name, reader, writer, first, changed }: Examples<T>,
): void {
  test(`of ${name} are put, found, replaced, listed and removed`, async () => {
    await using fixture = await setupDatabase(openStore)
    const { database } = fixture
    const { id } = first
    const findIn = (from: Database) => from.read((tx) => reader(tx).find(id))
    expect(await findIn(database)).toBeUndefined()
    await database.write(async (tx) => {
      await writer(tx).put(first)
      expect(await writer(tx).find(id)).toEqual(first)
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
