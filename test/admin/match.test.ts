import { expect, test } from 'bun:test'
import { rank } from '../../src/admin/page/shell/match'

const names = ['Sharing', 'Live', 'Mail', 'todoItems', 'archive']
const found = (text: string) => rank(text, names, (name) => name)

test('names are found by letters in their order, beginnings first', () => {
  expect(found('l')).toEqual(['Live', 'Mail'])
  expect(found('iv')).toEqual(['Live', 'archive'])
  expect(found('tdi')).toEqual(['todoItems'])
  expect(found('x')).toEqual([])
  expect(found(' ')).toEqual(names)
})
