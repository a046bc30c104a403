import { MANAGE } from '../domain/access/door'
import { codeAndLinkOf, type WaitingMail } from '../domain/store/mailer'
import { SatchelError } from '../domain/value/error'
import type { KeptMail } from '../host/mailbox'
import { sourceOf } from '../mail/smtp'
import { described, text } from './fields'
import { onDatabase, type OperationContext } from './operation'

/** So many mails that wait are listed. */
const MAX_WAITING_LETTERS = 100

const MAIL = { id: described(text, 'The id of a mail, from the list.') }

/** A mail as administrators see it. */
interface ListedMail {
  readonly id: string
  /** Empty when it was sealed with another key. */
  readonly to: string
  readonly kind: string
  /** When it was sent, printed or given up, or was put into the queue; ms since the epoch. */
  readonly at: number
  readonly state: KeptMail['state'] | 'waiting'
  readonly attempts: number
  /** Why it was not sent yet, or was given up. */
  readonly failure: string | null
  /** These are null where contents are not shown. */
  readonly subject: string | null
  readonly otp: string | null
  readonly link: string | null
}

/**
 * The last mails of a database and those that wait. A reader of mails could log in as anybody: codes and contents are
 * shown in development and in test mode only, to callers with `IMPERSONATE`.
 */
export const mailsOperations = {
  'mail.list': onDatabase(
    { scopes: MANAGE, effect: 'read', summary: 'List the last mails', input: {} },
    async ({ mailer, mailbox }, _input, context) => {
      const isShown = showsContents(context)
      const waiting = await mailer.waiting(MAX_WAITING_LETTERS)
      const kept = mailbox.mails.map((mail) => describeKept(mail, isShown))
      const mails = [...kept, ...waiting.map((mail) => describeWaiting(mail, isShown))]
      return { mails: mails.toSorted((one, other) => other.at - one.at), isShown }
    },
  ),

  /** `raw` is the source of the mail. */
  'mail.read': onDatabase(
    { scopes: MANAGE, effect: 'read', summary: 'Show a mail', input: MAIL },
    async ({ mailer, mailbox }, { id }, context) => {
      const isShown = showsContents(context)
      const kept = mailbox.mails.find((mail) => mail.id === id)
      if (kept === undefined) {
        const waiting = (await mailer.waiting(MAX_WAITING_LETTERS)).find((mail) => mail.id === id)
        if (waiting === undefined) throw unknownMail()
        return { ...describeWaiting(waiting, isShown), ...NO_CONTENTS }
      }
      const described = describeKept(kept, isShown)
      if (kept.contents === null || !isShown) return { ...described, ...NO_CONTENTS }
      const { from, text: plain, html } = kept.contents
      const raw = await sourceOf({ ...kept.contents, to: kept.to, date: kept.at })
      return { ...described, from, text: plain, html, raw }
    },
  ),

  'mail.retry': onDatabase(
    { scopes: MANAGE, effect: 'write', summary: 'Send a waiting mail now', input: MAIL },
    async ({ mailer }, { id }, { write }) => {
      if (!(await mailer.retry(id, write))) throw unknownMail()
      return { id }
    },
  ),

  /** One that waits is not sent; of others the server keeps nothing. */
  'mail.delete': onDatabase(
    { scopes: MANAGE, effect: 'write', summary: 'Delete a mail', input: MAIL },
    async ({ mailer, mailbox }, { id }, { write }) => {
      const wasWaiting = await mailer.discard(id, write)
      if (!mailbox.remove(id) && !wasWaiting) throw unknownMail()
      return { id }
    },
  ),
}

const NO_CONTENTS = { from: null, text: null, html: null, raw: null }

function showsContents({ folder, actor }: OperationContext): boolean {
  return folder.keepsMails() && actor.scopes.has('IMPERSONATE')
}

function describeKept({ contents, ...mail }: KeptMail, isShown: boolean): ListedMail {
  const { id, to, kind, at, state, failure } = mail
  const { subject = null, otp = null, link = null } = (isShown && contents) || {}
  return { id, to, kind, at, state, attempts: 1, failure, subject, otp, link }
}

function describeWaiting(
  { id, letter, created, attempts, failure }: WaitingMail,
  isShown: boolean,
): ListedMail {
  const { otp, link } = isShown && letter ? codeAndLinkOf(letter) : { otp: null, link: null }
  return {
    id,
    to: letter?.to ?? '',
    kind: letter?.kind ?? '',
    at: created,
    state: 'waiting',
    attempts,
    failure,
    subject: null,
    otp,
    link,
  }
}

function unknownMail(): SatchelError {
  return new SatchelError('UNKNOWN_OBJECT', 'There is no mail with this id: it may be too old')
}
