import { expect, test } from 'bun:test'
import { USER_ORDERS, type UserQuery } from '../../src/domain/user-query'
import { openConnection } from '../../src/sqlite/connection'
import { prepareFile } from '../../src/sqlite/prepare'
import { loadCommitted } from '../../src/sqlite/state'
import { countUsers, listUsers } from '../../src/sqlite/user-list'
import { temporaryFolder } from '../setup'

/** The plans of every statement that `work` runs, where a look-up finds few users or many. */
function setup() {
  const folder = temporaryFolder()
  const connection = openConnection(`${folder.path}/database.sqlite`, 'write', 'none')
  prepareFile(connection, `${folder.path}/database.sqlite`, { now: () => 0 })
  const committed = loadCommitted(connection)
  const plansOf = (query: Partial<UserQuery>, total = 0) => {
    const statements: string[] = []
    const prepare = (sql: string) => {
      statements.push(sql)
      return { get: () => ({ total }), values: () => [], all: () => [] }
    }
    const scope = { connection: { ...connection, prepare } as never, committed, unit: undefined }
    listUsers(scope, { order: 'userId', isDescending: false, limit: 10, ...query })
    return statements.map((sql) => {
      const steps = connection.prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all()
      return { sql, steps: steps.map(({ detail }) => detail).join('\n') }
    })
  }
  return {
    plansOf,
    connection,
    committed,
    [Symbol.dispose]() {
      connection.close()
      folder[Symbol.dispose]()
    },
  }
}

const AFTER = { value: 1, incarnation: 1 }

test('a page is read along the index of its order, which holds what it is narrowed by', () => {
  using scene = setup()
  for (const order of USER_ORDERS) {
    for (const isDescending of [false, true]) {
      const narrowed = { order, isDescending, type: 'eval', active: true } as const
      const [first, rows] = scene.plansOf(narrowed)
      expect(first?.steps).toMatch(
        /^(SCAN|SEARCH) users USING COVERING INDEX users_by_\w+( \(.*\))?$/,
      )
      expect(rows?.steps).toContain('SEARCH users USING INTEGER PRIMARY KEY (rowid=?)')
      expect(rows?.steps).not.toContain('SCAN users')
      // With many matches the text in the index is looked at.
      const [, dense] = scene.plansOf({ ...narrowed, search: 'alice' }, 5_000)
      expect(dense?.sql).toContain('instr(search, ?)')
      expect(dense?.steps).toMatch(
        /^(SCAN|SEARCH) users USING COVERING INDEX users_by_\w+( \(.*\))?$/,
      )
    }
  }
})

test('the next page is sought, not counted up to, however many users are alike', () => {
  using scene = setup()
  for (const order of USER_ORDERS) {
    for (const isDescending of [false, true]) {
      const [tied, rest] = scene.plansOf({ order, isDescending, after: AFTER })
      expect(tied?.steps).toMatch(
        /^SEARCH users USING COVERING INDEX users_by_\w+ \(.+=\? AND number[<>]\?\)$/,
      )
      expect(rest?.steps).toMatch(/^SEARCH users USING COVERING INDEX users_by_\w+ \(.+[<>]\?\)$/)
    }
  }
})

test('few matches are looked up by their trigrams and sorted', () => {
  using scene = setup()
  for (const search of ['a', 'al', 'ali']) {
    const [, numbers] = scene.plansOf({ order: 'displayName', search, after: AFTER }, 4_999)
    const index = search.length > 2 ? 'user_search' : 'user_trigrams'
    expect(numbers?.steps).toContain('SEARCH users USING INTEGER PRIMARY KEY (rowid=?)')
    expect(numbers?.steps).toContain(`SCAN ${index} VIRTUAL TABLE INDEX`)
    expect(numbers?.steps).not.toContain('SCAN users')
  }
})

test('seats are counted in an index', () => {
  using scene = setup()
  let sql = ''
  const prepare = (text: string) => {
    sql = text
    return { get: () => ({ total: 0 }) }
  }
  const connection = { ...scene.connection, prepare } as never
  const { committed } = scene
  countUsers({ connection, committed, unit: undefined }, { type: 'prod', active: true }, 5)
  const steps = scene.connection.prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all()
  expect(steps.map(({ detail }) => detail)).toContain(
    'SEARCH users USING COVERING INDEX users_by_type (type=?)',
  )
})
