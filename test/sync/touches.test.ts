import { expect, test } from 'bun:test'
import type { Commit } from '../../src/domain/store/store'
import { createTouches } from '../../src/sync/touches'

const NOBODY = { programPart: null, subject: null, client: null }

function commit(revision: number, ...realms: number[]): Commit {
  const units = [{ revision, realms, tables: ['todoItems'], subjects: [], records: [], ...NOBODY }]
  return { database: 'main', revision, units, jobs: false, mails: false, leftFiles: [] }
}

test('clients between the same two changes of a realm get the same range', () => {
  const touches = createTouches(10)
  touches.note(commit(12, 1))
  touches.note(commit(14, 2))
  touches.note(commit(16, 1))
  expect(touches.after(1, 12)).toEqual({ after: 12, upTo: 16 })
  expect(touches.after(1, 15)).toEqual({ after: 12, upTo: 16 })
  expect(touches.after(1, 11)).toEqual({ after: 10, upTo: 16 })
  expect(touches.after(1, 16)).toBeUndefined()
  expect(touches.after(2, 14)).toBeUndefined()
  expect(touches.after(3, 10)).toBeUndefined()
})

test('a commit with several units of a realm is one change', () => {
  const touches = createTouches(0)
  const [unit] = commit(2, 1).units
  if (unit === undefined) throw new Error('no unit')
  const units = [
    { ...unit, revision: 1 },
    { ...unit, revision: 2 },
  ]
  touches.note({ ...commit(2, 1), units })
  touches.note(commit(3, 1))
  expect(touches.after(1, 1)).toEqual({ after: 0, upTo: 3 })
  expect(touches.after(1, 2)).toEqual({ after: 2, upTo: 3 })
})

test('forgets old changes, and says so', () => {
  const touches = createTouches(0)
  for (let revision = 1; revision <= 100_002; revision += 1) touches.note(commit(revision, 1))
  expect(touches.reaches(100_000)).toBe(false)
  expect(touches.reaches(100_001)).toBe(true)
  expect(touches.after(1, 100_001)).toEqual({ after: 100_001, upTo: 100_002 })
})
