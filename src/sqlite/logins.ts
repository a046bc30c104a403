import type { TxContext, WriteContext } from './context'
import { fact, note } from './memo'
import type { LoginReader, LoginWriter } from '../domain/store/credentials'

export function loginReader(context: TxContext): LoginReader {
  return {
    isRevoked(id) {
      note(context, 'login', id)
      const select = 'SELECT 1 FROM revoked_logins WHERE id = ?'
      return context.connection.prepare(select).get(id) !== null
    },
  }
}

export function loginWriter(context: WriteContext): LoginWriter {
  return {
    ...loginReader(context),
    spend(id, expires) {
      const insert =
        'INSERT INTO spent_states (id, expires) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING id'
      return context.connection.prepare(insert).get(id, expires) !== null
    },
    revoke(id, expires) {
      // Remembered tokens of this login must be checked again.
      context.unit.touchRecords([`logins ${id}`], [fact('login', id)])
      const insert = 'INSERT INTO revoked_logins (id, expires) VALUES (?, ?) ON CONFLICT DO NOTHING'
      context.connection.prepare(insert).run(id, expires)
    },
  }
}
