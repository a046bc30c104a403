import { expect, test } from 'bun:test'
import { describePermissions } from '../../src/admin/page/sharing/rows'

test('permissions are short sentences', () => {
  expect(describePermissions({ manage: '*' })).toEqual(['manage everything'])
  expect(
    describePermissions({ add: ['todos'], update: { todos: ['done', 'title'], lists: '*' } }),
  ).toEqual(['add to todos', 'update done, title of todos', 'update everything of lists'])
  expect(describePermissions({})).toEqual([])
})
