import { expect, test } from 'bun:test'
import { rulesOf } from '../../../src/domain/object/writing'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import { BUILT_IN_TABLES } from '../../../src/domain/store/tables'
import { setupStore } from '../../auth/setup'

test('writes no row of a built-in table without the rules of that table', async () => {
  await using base = await setupStore()
  const database = await base.store.create('main')
  const tables = await database.read((tx) => tx.tables.list())
  const builtIn = tables.filter((table) => table.builtIn)
  expect(builtIn.map(({ name }) => name)).toEqual(BUILT_IN_TABLES.map(({ name }) => name))
  for (const table of builtIn) {
    expect(rulesOf(ROW_RULES, table)).toBeDefined()
    expect(() => rulesOf(new Map(), table)).toThrow('no rules for')
    expect(rulesOf(new Map(), { ...table, builtIn: false })).toBeUndefined()
  }
})
