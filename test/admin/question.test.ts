import { expect, test } from 'bun:test'
import { questionOf } from '../../src/admin/page/explain/question'

const ask = (rule: string | null) => {
  const { do: verb, property } = questionOf('bob', { table: 'todo.items', key: 'milk', rule })
  return [verb, property]
}

test('a rejected write asks for the permission that it lacks', () => {
  expect(ask('update todo.items.done')).toEqual(['update', 'done'])
  expect(ask('update todo.items.a.b')).toEqual(['update', 'a.b'])
  expect(ask('add todo.items')).toEqual(['add', null])
  expect(ask('delete todo.items')).toEqual(['delete', null])
})

test('another reason is explained as an update', () => {
  expect(ask(null)).toEqual(['update', null])
  expect(ask('the licence has expired')).toEqual(['update', null])
})
