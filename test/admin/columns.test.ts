import { expect, test } from 'bun:test'
import { columnsOf, type Row, widthFor } from '../../src/admin/page/data/columns'

const row = (key: string, value: Row['value'], cut: readonly string[] = []): Row => ({
  key,
  realmId: 'rlm1',
  owner: null,
  revision: 1,
  updated: 0,
  size: 10,
  value,
  cut,
  isDamaged: false,
})

test('properties of most objects come first; key, owner and realm have columns already', () => {
  const rows = [
    row('a', { id: 'a', owner: 'x', realmId: 'rlm1', rare: 1, title: 'Milk' }),
    row('b', { id: 'b', title: 'Bread' }, ['photo']),
    row('c', null),
  ]
  expect(columnsOf(rows)).toEqual(['title', 'rare', 'photo'])
})

test('names of built-in properties are columns, too', () => {
  expect(columnsOf([row('a', JSON.parse('{"__proto__":1,"constructor":2}'))])).toEqual([
    '__proto__',
    'constructor',
  ])
})

test('one long text among ten does not make its column wide', () => {
  const lengths = [...Array.from({ length: 19 }, () => 12), 500]
  expect(widthFor(lengths, 3)).toBe(widthFor([12], 3))
  expect(widthFor([], 3)).toBe(widthFor([3], 3))
  expect(widthFor([500], 3)).toBeLessThanOrEqual(300)
})
