import type { ErasedUser } from '../domain/store/copy'
import type { TxContext, WriteContext } from './context'
import { fact, note } from './memo'
import {
  countUsers,
  readPage,
  searchUsers,
  sumOfUser,
  toUser,
  USER_COLUMNS,
  type UserRow,
} from './user-list'
import {
  type UserReader,
  type UserWriter,
  type User,
  type UserFields,
  textsOf,
} from '../domain/store/users'
import { damaged } from './sum'

export function userReader(context: TxContext): UserReader {
  return {
    find(id) {
      note(context, 'subject', id)
      return find(context, id)
    },
    ofEmail(email, limit) {
      note(context, 'users')
      return context.connection
        .prepare<UserRow>(
          `SELECT ${USER_COLUMNS} FROM users WHERE email = ? ORDER BY number LIMIT ?`,
        )
        .all(email, limit)
        .map(toUser)
    },
    search(query, earlier) {
      note(context, 'users')
      return searchUsers(context, query, earlier)
    },
    page(positions, limit) {
      note(context, 'users')
      return readPage(context, positions, limit)
    },
    count(filter, most) {
      note(context, 'users')
      return countUsers(context, filter, most)
    },
  }
}

export function userWriter(context: WriteContext): UserWriter {
  return {
    ...userReader(context),
    put(fields) {
      touch(context, fields.id)
      return put(context, fields)
    },
    noteLogin: (id, at, now) => noteLogin(context, id, at, now),
    remove(id) {
      const { connection, unit } = context
      const gone = connection
        .prepare<ErasedUser>('DELETE FROM users WHERE id = ? RETURNING number, created')
        .get(id)
      if (gone === null) return false
      unit.group.counters.users -= 1
      connection
        .prepare('INSERT INTO erased_users (number, created, at) VALUES (?, ?, ?)')
        .run(gone.number, gone.created, unit.clock.now())
      touch(context, id)
      unit.group.flags.erased = true
      return true
    },
  }
}

function touch({ unit }: WriteContext, id: string): void {
  unit.touchSubjects([id])
  unit.touchPolicy([fact('users')])
}

function find({ connection }: TxContext, id: string): User | undefined {
  const row = connection.prepare<UserRow>(`SELECT ${USER_COLUMNS} FROM users WHERE id = ?`).get(id)
  if (row === null) return undefined
  if (row.id !== id) throw damaged('user', id)
  return toUser(row)
}

function put(context: WriteContext, user: UserFields): User {
  const { prepare } = context.connection
  const { email, name, search } = textsOf(user)
  const data = user.data === null ? null : JSON.stringify(user.data)
  const values = [
    user.id,
    user.type,
    user.created,
    user.updated,
    user.lastLogin,
    user.validUntil,
    user.evalUntil,
    user.deactivated,
    data,
    email,
    name,
    search,
  ]
  const known = prepare<{ number: number }>('SELECT number FROM users WHERE id = ?').get(user.id)
  if (known === null) {
    const { lastInsertRowid } = prepare(
      'INSERT INTO users (id, type, created, updated, last_login, valid_until, eval_until, deactivated, data, email, name, search, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)',
    ).run(...values)
    context.unit.group.counters.users += 1
    const incarnation = Number(lastInsertRowid)
    const sum = sumOfUser({ ...user, incarnation, data })
    prepare('UPDATE users SET sum = ? WHERE number = ?').run(sum, incarnation)
    return { ...user, incarnation }
  }
  const incarnation = known.number
  prepare(
    'UPDATE users SET type = ?2, created = ?3, updated = ?4, last_login = ?5, valid_until = ?6, eval_until = ?7, deactivated = ?8, data = ?9, email = ?10, name = ?11, search = ?12, sum = ?13 WHERE id = ?1',
  ).run(...values, sumOfUser({ ...user, incarnation, data }))
  return { ...user, incarnation }
}

/** Not the sum of a damaged row, which would be accepted by it: that row stays as it is. */
function noteLogin({ connection }: TxContext, id: string, at: number, now: number): void {
  const row = connection.prepare<UserRow>(`SELECT ${USER_COLUMNS} FROM users WHERE id = ?`).get(id)
  if (row === null || sumOfUser(row) !== row.sum) return
  const lastLogin = row.lastLogin ?? row.created - 1
  if (lastLogin >= at && lastLogin <= now) return
  connection
    .prepare('UPDATE users SET last_login = ?, sum = ? WHERE number = ?')
    .run(at, sumOfUser({ ...row, lastLogin: at }), row.incarnation)
}
