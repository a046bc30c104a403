import type { TxContext, WriteContext } from './context'
import { countUsers, listUsers, toUser, USER_COLUMNS, type UserRow } from './user-list'
import type { UserReader, UserWriter, User, UserFields } from '../domain/store/users'
import { textsOf } from '../domain/user/query'

export function userReader(context: TxContext): UserReader {
  return {
    find: (id) => find(context, id),
    ofEmail: (email, limit) =>
      context.connection
        .prepare<UserRow>(
          `SELECT ${USER_COLUMNS} FROM users WHERE email = ? ORDER BY number LIMIT ?`,
        )
        .all(email, limit)
        .map(toUser),
    list: (query) => listUsers(context, query),
    count: (filter, most) => countUsers(context, filter, most),
  }
}

export function userWriter(context: WriteContext): UserWriter {
  return {
    ...userReader(context),
    put(fields) {
      context.unit.touchPolicy([fields.id])
      return put(context, fields)
    },
    noteLogin(id, at, now) {
      context.connection
        .prepare(
          'UPDATE users SET last_login = ?2 WHERE id = ?1 AND ifnull(last_login, created - 1) NOT BETWEEN ?2 AND ?3',
        )
        .run(id, at, now)
    },
    remove(id) {
      const row = context.connection
        .prepare<{ number: number }>('DELETE FROM users WHERE id = ? RETURNING number')
        .get(id)
      if (row === null) return false
      context.unit.touchPolicy([id])
      unindexText(context, row.number)
      return true
    },
  }
}

function find({ connection }: TxContext, id: string): User | undefined {
  const row = connection.prepare<UserRow>(`SELECT ${USER_COLUMNS} FROM users WHERE id = ?`).get(id)
  return row === null ? undefined : toUser(row)
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
  const known = prepare<{ number: number; search: string }>(
    'SELECT number, search FROM users WHERE id = ?',
  ).get(user.id)
  if (known === null) {
    const { lastInsertRowid } = prepare(
      'INSERT INTO users (id, type, created, updated, last_login, valid_until, eval_until, deactivated, data, email, name, search) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    ).run(...values)
    const incarnation = Number(lastInsertRowid)
    indexText(context, incarnation, search)
    return { ...user, incarnation }
  }
  prepare(
    'UPDATE users SET type = ?2, created = ?3, updated = ?4, last_login = ?5, valid_until = ?6, eval_until = ?7, deactivated = ?8, data = ?9, email = ?10, name = ?11, search = ?12 WHERE id = ?1',
  ).run(...values)
  if (known.search !== search) {
    unindexText(context, known.number)
    indexText(context, known.number, search)
  }
  return { ...user, incarnation: known.number }
}

function indexText(
  { connection }: Pick<TxContext, 'connection'>,
  number: number,
  search: string,
): void {
  connection.prepare('INSERT INTO user_search (rowid, text) VALUES (?, ?)').run(number, search)
}

function unindexText({ connection }: TxContext, number: number): void {
  connection.prepare('DELETE FROM user_search WHERE rowid = ?').run(number)
}
