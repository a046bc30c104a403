import { and, desc, eq, gt, lt, lte } from 'drizzle-orm'
import type { InvitationReader, InvitationWriter, Span } from '../domain/store/people'
import { invitations } from './schema'
import type { Scope, WriteScope } from './scope'

export function invitationReader(scope: Scope): InvitationReader {
  const timesOf = (
    column: typeof invitations.inviter | typeof invitations.email,
    value: string,
    { after, until }: Span,
    most: number,
  ) =>
    scope.connection.orm
      .select({ sent: invitations.sent })
      .from(invitations)
      .where(and(eq(column, value), gt(invitations.sent, after), lte(invitations.sent, until)))
      .orderBy(desc(invitations.sent))
      .limit(most)
      .all()
      .map(({ sent }) => sent)
  return {
    find: (id) =>
      scope.connection.orm.select().from(invitations).where(eq(invitations.id, id)).get(),
    sentBy: (inviter, span, most) => timesOf(invitations.inviter, inviter, span, most),
    sentTo: (email, span, most) => timesOf(invitations.email, email, span, most),
  }
}

export function invitationWriter(scope: WriteScope): InvitationWriter {
  return {
    ...invitationReader(scope),
    put(invitation) {
      scope.connection.orm.insert(invitations).values(invitation).run()
    },
    removeTo(email) {
      scope.connection.orm.delete(invitations).where(eq(invitations.email, email)).run()
    },
    prune(before) {
      scope.connection.orm.delete(invitations).where(lt(invitations.expires, before)).run()
    },
  }
}
