import type { TxContext, WriteContext } from './context'
import { isSound, sumOf, withoutSum } from './summed'
import type { MailReader, MailWriter, QueuedMail } from '../domain/store/mails'

type Row = QueuedMail & { readonly sum: number }

const SELECT = 'SELECT id, recipient, sealed, attempts, created, due, expires, sum FROM mails'
const PUT =
  'INSERT OR REPLACE INTO mails (id, recipient, sealed, attempts, created, due, expires, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)'

export function mailReader(context: TxContext): MailReader {
  return {
    due: (now, limit) =>
      context.connection
        .prepare<Row>(`${SELECT} WHERE due <= ? ORDER BY due LIMIT ?`)
        .all(now, limit)
        // A damaged one cannot be opened: it is reported and given up.
        .map((row) =>
          isSound('mails', row)
            ? withoutSum(row)
            : { ...withoutSum(row), sealed: '', expires: Infinity },
        ),
  }
}

export function mailWriter(context: WriteContext): MailWriter {
  return {
    ...mailReader(context),
    put(mail) {
      const { id, recipient, sealed, attempts, created, due, expires } = mail
      const sum = sumOf('mails', { ...mail })
      const values = [id, recipient, sealed, attempts, created, due, expires, sum]
      context.connection.prepare(PUT).run(...values)
      context.unit.group.flags.mails = true
    },
    remove: (id) =>
      context.connection.prepare('DELETE FROM mails WHERE id = ? RETURNING id').get(id) !== null,
  }
}
