import { asc, eq, lte, min } from 'drizzle-orm'
import type { MailReader, MailWriter } from '../domain/store/people'
import { mails } from './schema'
import type { Scope, WriteScope } from './scope'

export function mailReader(scope: Scope): MailReader {
  return {
    due: (now, limit) =>
      scope.connection.orm
        .select()
        .from(mails)
        .where(lte(mails.due, now))
        .orderBy(asc(mails.due))
        .limit(limit)
        .all(),
    nextDue: () =>
      scope.connection.orm
        .select({ due: min(mails.due) })
        .from(mails)
        .get()?.due ?? undefined,
  }
}

export function mailWriter(scope: WriteScope): MailWriter {
  return {
    ...mailReader(scope),
    put(mail) {
      scope.connection.orm
        .insert(mails)
        .values(mail)
        .onConflictDoUpdate({ target: mails.id, set: mail })
        .run()
      scope.unit.group.mailsTouched = true
    },
    remove(id) {
      const removed = scope.connection.orm
        .delete(mails)
        .where(eq(mails.id, id))
        .returning({ id: mails.id })
        .all()
      return removed.length > 0
    },
    removeTo(recipient) {
      scope.connection.orm.delete(mails).where(eq(mails.recipient, recipient)).run()
    },
  }
}
