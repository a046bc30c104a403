import type { TxContext, WriteContext } from './context'
import type { MailReader, MailWriter, QueuedMail } from '../domain/store/mails'

const SELECT = 'SELECT id, recipient, sealed, attempts, created, due, expires FROM mails'
const PUT =
  'INSERT OR REPLACE INTO mails (id, recipient, sealed, attempts, created, due, expires) VALUES (?, ?, ?, ?, ?, ?, ?)'

export function mailReader(context: TxContext): MailReader {
  return {
    due: (now, limit) =>
      context.connection
        .prepare<QueuedMail>(`${SELECT} WHERE due <= ? ORDER BY due LIMIT ?`)
        .all(now, limit),
  }
}

export function mailWriter(context: WriteContext): MailWriter {
  return {
    ...mailReader(context),
    put(mail) {
      const { id, recipient, sealed, attempts, created, due, expires } = mail
      context.connection.prepare(PUT).run(id, recipient, sealed, attempts, created, due, expires)
      context.unit.group.flags.mails = true
    },
    remove: (id) =>
      context.connection.prepare('DELETE FROM mails WHERE id = ? RETURNING id').get(id) !== null,
  }
}
