import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { declare, fresh, NOW } from '../contract/fixture'
import { refusalOf } from '../auth/setup'
import { temporaryFolder } from '../setup'
import { openIn } from './setup'

const KEYS = ['key1', 'key2', 'key3']

/** The entry of a key in its index: the length of its head, two types, the key and a position of one byte. */
const entryOf = (key: string) => new RegExp(`\\x03\\x15\\x01${key}([^])`, 'g')

test('an object is not taken for the one that a damaged index leads to', async () => {
  using folder = temporaryFolder()
  {
    await using opened = openIn(folder.path)
    await opened.database.write((tx) => {
      const table = declare(tx, 'things', '@id')
      const puts = KEYS.map((id) => fresh(id, { value: JSON.stringify({ id }) }))
      tx.objects.put(table, puts, NOW)
    })
  }
  const file = join(folder.path, 'database.sqlite')
  const bytes = readFileSync(file, 'latin1')
  const [second, third] = ['key2', 'key3'].map((key) => entryOf(key).exec(bytes)![1]!)
  const damaged = bytes
    .replace(entryOf('key2'), `\x03\x15\x01key2${third}`)
    .replace(entryOf('key3'), `\x03\x15\x01key3${second}`)
  writeFileSync(file, damaged, 'latin1')

  await using opened = openIn(folder.path)
  const read = (key: string, realms?: ReadonlySet<number>) =>
    opened.database.read((tx) => {
      const table = tx.tables.find('things')!
      return tx.objects.findText(table, key, realms)?.value
    })
  expect(await read('key1')).toBe('{"id":"key1"}')
  for (const realms of [undefined, new Set([1])]) {
    expect(await refusalOf(() => read('key2', realms))).toMatchObject({
      code: 'DAMAGED',
      reason: 'key2',
    })
  }
})
