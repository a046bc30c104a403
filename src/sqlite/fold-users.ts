import { textsOf } from '../domain/user/search'
import type { Connection } from './connection'
import { toUser, USER_COLUMNS, type UserRow } from './user-row'

/**
 * Gives users the texts that they are found, searched in and sorted by, where a migration left that to
 * the program: SQL cannot fold. All of them or none.
 */
export function foldUsers({ db, prepare }: Connection): void {
  const unfolded = prepare<UserRow>(
    `SELECT ${USER_COLUMNS} FROM users INDEXED BY users_to_fold WHERE search IS NULL LIMIT 1000`,
  )
  let rows = unfolded.all()
  if (rows.length === 0) return
  const fold = prepare('UPDATE users SET email = ?, name = ?, search = ? WHERE number = ?')
  const learn = prepare('INSERT INTO user_search (rowid, text) VALUES (?, ?)')
  db.run('BEGIN IMMEDIATE')
  try {
    for (; rows.length > 0; rows = unfolded.all()) {
      for (const row of rows) {
        const { email, name, search } = textsOf(toUser(row))
        fold.run(email, name, search, row.incarnation)
        learn.run(row.incarnation, search)
      }
    }
    db.run('COMMIT')
  } catch (error) {
    if (db.inTransaction) db.run('ROLLBACK')
    throw error
  }
}
