import { expect, test } from 'bun:test'
import { openConnection } from '../../src/sqlite/connection'
import { prepareFile } from '../../src/sqlite/prepare'
import { loadCommitted } from '../../src/sqlite/state'
import { countUsers, searchUsers } from '../../src/sqlite/user-list'
import { temporaryFolder } from '../setup'
import { USER_ORDERS, type UserQuery } from '../../src/domain/store/users'
import type { TxContext } from '../../src/sqlite/context'

/** The plans of the statements that `work` runs. */
function plansOf(work: (context: TxContext) => unknown): string[] {
  using folder = temporaryFolder()
  const file = `${folder.path}/database.sqlite`
  const connection = openConnection(file, 'write', 'none')
  try {
    prepareFile(connection, file, { now: () => 0 })
    const statements: string[] = []
    const prepare = (sql: string) => {
      statements.push(sql)
      return connection.prepare(sql)
    }
    const committed = loadCommitted(connection)
    const watched = { ...connection, prepare } as never
    work({ connection: watched, committed, unit: undefined, loads: [] })
    return statements.map((sql) => {
      const steps = connection.prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all()
      return steps.map(({ detail }) => detail).join('; ')
    })
  } finally {
    connection.close()
  }
}

const BASE = { isDescending: false, limit: 10, after: { value: 'a', incarnation: 1 } } as const
const EARLIER = { positions: [], next: 7 } as const
/** A range of the index, without a look at a row. */
const STEP =
  /^SEARCH users USING COVERING INDEX users_listed \(type=\? AND number>\? AND number<\?\)/

test('a step of a search reads a range of one index, whichever order and filter it has', () => {
  for (const order of USER_ORDERS) {
    for (const filter of [{ search: 'ali' }, { type: 'eval', active: true }, { active: false }]) {
      const query = { ...BASE, ...filter, order } as UserQuery
      const [step] = plansOf((context) => searchUsers(context, query, EARLIER))
      expect(step).toMatch(STEP)
    }
  }
})

test('a whole list by id is sought along the ids', () => {
  const query: UserQuery = { ...BASE, order: 'userId' }
  expect(plansOf((context) => searchUsers(context, query))).toEqual([
    'SEARCH users USING COVERING INDEX sqlite_autoindex_users_1 (id>?)',
  ])
})

test('users of a type are counted along the index', () => {
  const filter = { type: 'prod', active: true } as const
  const [count] = plansOf((context) => countUsers(context, filter, 5))
  expect(count).toContain('SEARCH users USING COVERING INDEX users_listed (type=?)')
})
