import { and, asc, desc, eq, getTableColumns, gt, lt, lte, min } from 'drizzle-orm'
import { invitations, mails } from './schema'
import type { TxContext, WriteContext } from './context'
import { isSound, noteSum, requireSound, sumOf, withoutSum } from './summed'
import type { InvitationReader, InvitationWriter, Span } from '../domain/store/invitations'
import type { MailReader, MailWriter } from '../domain/store/mails'

export function mailReader(context: TxContext): MailReader {
  return {
    due: (now, limit) =>
      context.connection.orm
        .select()
        .from(mails)
        .where(lte(mails.due, now))
        .orderBy(asc(mails.due))
        .limit(limit)
        .all()
        // A damaged one cannot be opened: it is reported and given up.
        .map((row) =>
          isSound('mails', row)
            ? withoutSum(row)
            : { ...withoutSum(row), sealed: '', expires: Infinity },
        ),
    nextDue: () =>
      context.connection.orm
        .select({ due: min(mails.due) })
        .from(mails)
        .get()?.due ?? undefined,
  }
}

export function mailWriter(context: WriteContext): MailWriter {
  return {
    ...mailReader(context),
    put(mail) {
      const row = { ...mail, sum: sumOf('mails', mail) }
      context.connection.orm
        .insert(mails)
        .values(row)
        .onConflictDoUpdate({ target: mails.id, set: row })
        .run()
      context.unit.group.flags.mails = true
    },
    remove(id) {
      const removed = context.connection.orm
        .delete(mails)
        .where(eq(mails.id, id))
        .returning({ id: mails.id })
        .all()
      return removed.length > 0
    },
    removeTo(recipient) {
      context.connection.orm.delete(mails).where(eq(mails.recipient, recipient)).run()
    },
  }
}

const INVITATION = withoutSum(getTableColumns(invitations))

export function invitationReader(context: TxContext): InvitationReader {
  const timesOf = (
    column: typeof invitations.inviter | typeof invitations.email,
    value: string,
    { after, until }: Span,
    most: number,
  ) =>
    context.connection.orm
      .select({ sent: invitations.sent })
      .from(invitations)
      .where(and(eq(column, value), gt(invitations.sent, after), lte(invitations.sent, until)))
      .orderBy(desc(invitations.sent))
      .limit(most)
      .all()
      .map(({ sent }) => sent)
  return {
    find(id) {
      const { connection } = context
      requireSound(connection, 'invitations', id)
      return connection.orm.select(INVITATION).from(invitations).where(eq(invitations.id, id)).get()
    },
    sentBy: (inviter, span, most) => timesOf(invitations.inviter, inviter, span, most),
    sentTo: (email, span, most) => timesOf(invitations.email, email, span, most),
  }
}

export function invitationWriter(context: WriteContext): InvitationWriter {
  return {
    ...invitationReader(context),
    put(invitation) {
      context.connection.orm.insert(invitations).values(invitation).run()
      noteSum(context.connection, 'invitations', invitation.id)
    },
    removeTo(email) {
      context.connection.orm.delete(invitations).where(eq(invitations.email, email)).run()
    },
    prune(before) {
      context.connection.orm.delete(invitations).where(lt(invitations.expires, before)).run()
    },
  }
}
