import { expect, test } from 'bun:test'
import { openConnection } from '../../src/sqlite/connection'
import { prepareFile } from '../../src/sqlite/prepare'
import { loadCommitted } from '../../src/sqlite/state'
import { countUsers, listUsers, sumOfUser } from '../../src/sqlite/user-list'
import { temporaryFolder } from '../setup'
import { USER_ORDERS, type UserFilter, type UserQuery } from '../../src/domain/store/users'

/** The result of a look-up of users, and whether the users near the place of the page fill it. */
interface Crowd {
  readonly total?: number
  readonly isNear?: boolean
}

/** The plans of the statements that a list runs. */
function setup() {
  const folder = temporaryFolder()
  const connection = openConnection(`${folder.path}/database.sqlite`, 'write', 'none')
  prepareFile(connection, `${folder.path}/database.sqlite`, { now: () => 0 })
  const committed = loadCommitted(connection)
  const plansOf = (query: Partial<UserQuery>, { total = 0, isNear = false }: Crowd = {}) => {
    const statements: string[] = []
    const places = isNear ? Array.from({ length: 11 }, () => ({ value: 1, incarnation: 1 })) : []
    const prepare = (sql: string) => {
      statements.push(sql)
      return {
        get: (...parameters: unknown[]) => ({
          total: Math.min(total, Number(parameters.at(-1))),
          numbers: '[]',
        }),
        all: () => (sql.includes('AS value') ? places : [{ ...USER, sum: sumOfUser(USER) }]),
      }
    }
    const scope = {
      connection: { ...connection, prepare } as never,
      committed,
      unit: undefined,
      loads: [],
    }
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

const USER = {
  incarnation: 1,
  id: 'alice',
  type: 'prod',
  created: 1,
  updated: 1,
  lastLogin: null,
  validUntil: null,
  evalUntil: null,
  deactivated: null,
  data: null,
} as const
const AFTER = { value: 1, incarnation: 1 }
/** Stops as soon as the page is full, in the order of the index, without a look at a row. */
const WALK =
  /^CO-ROUTINE \S+\n(SCAN|SEARCH) users USING COVERING INDEX users_by_\w+( \(.*\))?\nSCAN \S+$/
const SEEK = /^CO-ROUTINE \S+\nSEARCH users USING COVERING INDEX users_by_\w+ \((.+)\)\nSCAN \S+$/

const each = USER_ORDERS.flatMap((order) =>
  [false, true].map((isDescending) => ({ order, isDescending })),
)

test('a page is read along the index of its order, which holds what it is narrowed by', () => {
  using scene = setup()
  for (const one of each) {
    const [first, rows] = scene.plansOf({ ...one, active: true })
    expect(first?.steps).toMatch(WALK)
    expect(rows?.steps).toContain('SEARCH users USING INTEGER PRIMARY KEY (rowid=?)')
    expect(rows?.steps).not.toContain('SCAN users')
    for (const search of [{}, { search: 'alice' }]) {
      const narrowed = { ...one, ...search, type: 'eval', active: true } as const
      const [few, near, ...rest] = scene.plansOf(narrowed, { total: 50_000, isNear: true })
      expect(few?.sql).toContain('count(*)')
      expect(near?.steps).toMatch(WALK)
      expect(rest).toHaveLength(1)
    }
  }
})

test('the next page is sought, not counted up to, however many users are alike', () => {
  using scene = setup()
  for (const one of each) {
    const [tied, rest] = scene.plansOf({ ...one, after: AFTER })
    expect(SEEK.exec(tied?.steps ?? '')?.[1]).toMatch(/=\? AND number[<>]\?$/)
    expect(SEEK.exec(rest?.steps ?? '')?.[1]).toMatch(/[<>]\?$/)
  }
})

/** An index that finds the users of each filter. */
const LOOKUPS: readonly [UserFilter, string][] = [
  [{ search: 'a' }, 'SCAN user_trigrams VIRTUAL TABLE INDEX'],
  [{ search: 'al', type: 'eval' }, 'SCAN user_trigrams VIRTUAL TABLE INDEX'],
  [{ search: 'ali' }, 'SCAN user_search VIRTUAL TABLE INDEX'],
  [{ search: 'alice smith' }, 'SCAN user_search VIRTUAL TABLE INDEX'],
  [{ type: 'demo' }, 'SEARCH users USING COVERING INDEX users_by_type (type=?)'],
  [{ type: 'demo', active: true }, 'SEARCH users USING COVERING INDEX users_by_type (type=?)'],
  [{ active: false }, 'USING COVERING INDEX users_inactive'],
]

test.each(LOOKUPS)('those of %j are looked up and sorted when they are few', (filter, index) => {
  using scene = setup()
  for (const one of each) {
    const [few, sorted, rows] = scene.plansOf({ ...one, ...filter, after: AFTER }, { total: 30 })
    expect(few?.steps).toContain(index)
    expect(sorted?.steps).toMatch(
      /^SCAN json_each VIRTUAL TABLE INDEX 1:\nSEARCH users USING INTEGER PRIMARY KEY \(rowid=\?\)\nUSE TEMP B-TREE FOR ORDER BY$/,
    )
    expect(rows?.sql).toContain('number IN')
  }
})

test('some are looked up when they are not near, and more are walked to', () => {
  using scene = setup()
  const kinds = (total: number) =>
    scene
      .plansOf({ search: 'alice' }, { total })
      .map(({ sql }) => /count\(\*\)|TEMP|json_each|INDEXED BY users_by_id/.exec(sql)?.[0])
  const [look, walk, sort] = ['count(*)', 'INDEXED BY users_by_id', 'json_each']
  expect(kinds(30)).toEqual([look, sort, sort])
  expect(kinds(31)).toEqual([look, walk, look, sort, sort])
  expect(kinds(12_000)).toEqual([look, walk, look, sort, sort])
  expect(kinds(12_001)).toEqual([look, walk, look, walk, sort])
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
  countUsers(
    { connection, committed, unit: undefined, loads: [] },
    { type: 'prod', active: true },
    5,
  )
  const steps = scene.connection.prepare<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all()
  expect(steps.map(({ detail }) => detail)).toContain(
    'SEARCH users USING COVERING INDEX users_by_type (type=?)',
  )
})
