import { expect, test } from 'bun:test'
import type { Row } from '../../src/admin/page/data/columns'
import { describePermissions, readMember } from '../../src/admin/page/sharing/rows'

const date = { $t: 'Date', v: '2030-01-01T12:00:00.000Z' }
const row = (value: Row['value']): Row => ({
  key: 'mmb1',
  realmId: 'rlm1',
  owner: null,
  revision: 1,
  updated: 0,
  size: 10,
  value,
  cut: [],
  isDamaged: false,
})

test('the state of a membership is that of its newest answer', () => {
  const stateOf = (value: Row['value']) => readMember(row(value)).state
  expect(stateOf({ accepted: date, invitedDate: date })).toBe('accepted')
  expect(stateOf({ accepted: date, rejected: date })).toBe('rejected')
  expect(stateOf({ invite: true, accepted: { $t: 'undefined' } })).toBe('invited')
  expect(stateOf({ userId: 'bob' })).toBe('open')
})

test('a row that an application has spoilt is still a member', () => {
  expect(readMember(row({ roles: 'doer', permissions: 7, email: 1, name: null }))).toMatchObject({
    roles: [],
    permissions: {},
    email: null,
    name: null,
  })
  expect(readMember(row(null))).toMatchObject({ state: 'open' })
})

test('permissions are short sentences', () => {
  expect(describePermissions({ manage: '*' })).toEqual(['manage everything'])
  expect(
    describePermissions({ add: ['todos'], update: { todos: ['done', 'title'], lists: '*' } }),
  ).toEqual(['add to todos', 'update done, title of todos', 'update everything of lists'])
  expect(describePermissions({})).toEqual([])
})
