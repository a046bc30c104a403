import { expect, test } from 'bun:test'
import type { PageEnd, PageQuery } from '../../src/domain/store/objects'
import { SqliteReadTx } from '../../src/sqlite/tx'
import { declare, entry, fresh, keyOf, NOW } from '../contract/fixture'
import { setupWriter } from './setup'

/** More than a look-up visits at once; the rows of others lie between the first of them and the rest. */
const OWN = 101_000
const OTHERS = 45_000

test('objects that are too many to be located are found among the next rows, page by page', async () => {
  await using writer = setupWriter()
  const { table, index, realm } = await writer.run((tx) => {
    const declared = declare(tx, 'things', '@id, n')
    const { ref } = tx.realms.ensure('rlm-own')
    return { table: declared, index: declared.indexes[0]!.number, realm: ref }
  })
  const entries = [entry(index, 5, 1)]
  await writer.run((tx) => {
    const others = Array.from({ length: OTHERS }, (_, n) => fresh(`o${n}`))
    tx.objects.put(table, [fresh('first', { realm, entries }), ...others], NOW)
  })
  for (let from = 0; from < OWN; from += 20_200) {
    const puts = Array.from({ length: 20_200 }, (_, n) => fresh(`k${from + n}`, { realm, entries }))
    await writer.run((tx) => tx.objects.put(table, puts, NOW))
  }
  const realms = new Set([realm])
  const range = { lower: Uint8Array.of(5), upper: Uint8Array.of(6) }
  const size = { rows: 10_000, bytes: 100_000_000 }
  const queries: Omit<PageQuery, 'size'>[] = [
    { realms },
    { realms, joined: true },
    { realms, lookup: { index, keys: [], range } },
  ]
  for (const query of queries) {
    let found = 0
    let after: PageEnd | undefined
    let shortest = Infinity
    do {
      const tx = new SqliteReadTx(writer.connection, writer.committed)
      const { rows, text, next } = tx.objects.page(table, { ...query, after, size })
      expect(text).toBeUndefined()
      if (after === undefined) expect(rows.map(keyOf)).toEqual(['first'])
      found += rows.length
      shortest = Math.min(shortest, rows.length)
      after = next
    } while (after !== undefined)
    expect(found).toBe(OWN + 1)
    expect(shortest).toBe(0)
  }
})
