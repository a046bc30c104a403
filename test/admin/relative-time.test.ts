import { expect, test } from 'bun:test'
import { relative } from '../../src/admin/page/parts/relative-time'

test('a distance in time has one unit', () => {
  const minute = 60_000
  expect([-1_000, -59_000, -3 * minute, -90 * minute, -49 * 60 * minute].map(relative)).toEqual([
    'now',
    '59 s ago',
    '3 min ago',
    '1 h ago',
    '2 d ago',
  ])
  expect([3_000, 30 * minute, 400 * 24 * 60 * minute].map(relative)).toEqual([
    'now',
    'in 30 min',
    'in 1 y',
  ])
})
