import { expect, test } from 'bun:test'
import { bring } from '../contract/content-fixture'
import type { OperationName } from '../../src/control/operations'
import { setupOperations } from './setup'

const LONG: readonly (readonly [OperationName, object, string | null])[] = [
  ['blob.verify', {}, null],
  ['blob.gc', {}, null],
  ['export', { format: 'ndjson', table: null, realm: null }, null],
  ['export', { format: 'zip', table: null, realm: null }, null],
  ['import', { table: null, realm: null }, '{}'],
  ['object.list', { table: 'items', search: 'nowhere' }, null],
  ['realm.clear', { realmId: 'rlm-public' }, null],
  ['schema.push', { wait: true }, '{"items":"@id, name"}'],
  ['table.clear', { table: 'items' }, null],
  ['table.list', {}, null],
  ['verify', {}, null],
]

test.each(LONG)('%s %j ends when its caller has left', async (name, input, text) => {
  await using operations = await setupOperations({ items: '@id' })
  const value = { id: 'itm1', realmId: 'rlm-public' }
  await operations.run('object.put', { table: 'items', key: 'itm1', value })
  await bring((await operations.folder.hosts.open('main')).blobs, 'of no object')
  const signal = AbortSignal.abort()
  const upload = text === null ? {} : { upload: new Blob([text]).stream() }
  const download = async () => undefined
  const running = operations.run(name, input, undefined, { signal, download, ...upload })
  const error = await running.catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(Error)
  // Work in many units stays `begun` in the log, as when the process is killed.
  expect(await operations.audited()).not.toContain(`${name} INTERNAL`)
})
