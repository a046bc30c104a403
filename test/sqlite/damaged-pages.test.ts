import { expect, test } from 'bun:test'
import type { PageQuery } from '../../src/domain/store/objects'
import { SqliteReadTx } from '../../src/sqlite/tx'
import { declare, entry, fresh, NOW, WHOLE } from '../contract/fixture'
import { setupWriter } from './setup'

test('every way to a page names a damaged object and shows the others', async () => {
  await using writer = setupWriter()
  const { table, index, realm } = await writer.run((tx) => {
    const declared = declare(tx, 'things', '@id, n')
    const { ref } = tx.realms.ensure('rlm-own')
    const number = declared.indexes[0]!.number
    const puts = ['a', 'b', 'c'].map((key) =>
      fresh(key, { realm: ref, entries: [entry(number, 1)] }),
    )
    tx.objects.put(declared, puts, NOW)
    return { table: declared, index: number, realm: ref }
  })
  const read = (query: Omit<PageQuery, 'size'>) =>
    new SqliteReadTx(writer.connection, writer.committed).objects.page(table, {
      ...query,
      size: WHOLE,
    })
  const realms = new Set([realm])
  const range = { lower: Uint8Array.of(0), upper: Uint8Array.of(9) }
  const queries: Omit<PageQuery, 'size'>[] = [
    {},
    { joined: true },
    { realms },
    { realms, joined: true },
    { lookup: { index, keys: [Uint8Array.of(1)] } },
    { lookup: { index, keys: [Uint8Array.of(1), Uint8Array.of(2)] }, realms },
    { lookup: { index, keys: [], range } },
  ]
  // Texts are known by then, and their sums.
  for (const query of [...queries, ...queries]) read(query)
  writer.connection.db.run(`UPDATE o_${table.number} SET value = '{"id":"B"}' WHERE key = 'b'`)
  for (const query of [...queries, ...queries]) {
    const { rows, text } = read(query)
    expect(text).toBeUndefined()
    expect(rows.map(({ isDamaged }) => isDamaged)).toEqual([undefined, true, undefined])
    expect([rows[0]?.value, rows[2]?.value]).toEqual(['{"id":"a"}', '{"id":"c"}'])
    expect(() => rows[1]?.value).toThrow('"b"')
  }
})
