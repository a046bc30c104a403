import { OTP_LIMITS } from '../auth/limits'
import { MANAGE } from '../domain/access/door'
import { isLive } from '../domain/store/credentials'
import { codeAndLinkOf, type WaitingMail } from '../domain/store/mailer'
import { SatchelError } from '../domain/value/error'
import type { OpenDatabase } from '../host/host'
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
  /** Null without a code. */
  readonly otpState: OtpState | null
  readonly link: string | null
}

/** Whether the code of a mail can still be used, once. */
type OtpState = 'open' | 'used' | 'expired'

/**
 * The last mails of a database and those that wait. A reader of mails could log in as anybody: codes and contents are
 * shown in development and in test mode only, to a caller with `IMPERSONATE` whose login may write.
 */
export const mailsOperations = {
  'mail.list': onDatabase(
    { scopes: MANAGE, effect: 'read', summary: 'List the last mails', input: {} },
    async (opened, _input, context) => {
      const { mailer, mailbox } = opened
      const isShown = showsContents(context)
      const states = await otpStates(opened, isShown ? mailbox.mails : [])
      const waiting = await mailer.waiting(MAX_WAITING_LETTERS)
      const kept = mailbox.mails.map((mail) => describeKept(mail, isShown, states))
      const mails = [...kept, ...waiting.map((mail) => describeWaiting(mail, isShown))]
      return { mails: mails.toSorted((one, other) => other.at - one.at), isShown }
    },
  ),

  /** `raw` is the source of the mail. */
  'mail.read': onDatabase(
    { scopes: MANAGE, effect: 'read', summary: 'Show a mail', input: MAIL },
    async (opened, { id }, context) => {
      const { mailer, mailbox } = opened
      const isShown = showsContents(context)
      const kept = mailbox.mails.find((mail) => mail.id === id)
      if (kept === undefined) {
        const waiting = await mailer.findWaiting(id)
        if (waiting === undefined) throw unknownMail()
        return { ...describeWaiting(waiting, isShown), ...NO_CONTENTS }
      }
      const states = await otpStates(opened, isShown ? [kept] : [])
      const described = describeKept(kept, isShown, states)
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

function showsContents({ folder, actor, isReadOnly }: OperationContext): boolean {
  return folder.keepsMails() && isReadOnly !== true && actor.scopes.has('IMPERSONATE')
}

/** The states of the codes of these mails, by the ids of the mails. */
async function otpStates(
  { database, authority }: OpenDatabase,
  mails: readonly KeptMail[],
): Promise<ReadonlyMap<string, OtpState>> {
  const now = authority.clock.now()
  return await database.read((tx) => {
    const states = mails.flatMap(({ id, contents }): [string, OtpState][] => {
      if (!contents?.otpId) return []
      const code = tx.codes.find(contents.otpId)
      const isOpen = code !== undefined && isLive(code, now, OTP_LIMITS.tries)
      return [[id, isOpen ? 'open' : code?.used ? 'used' : 'expired']]
    })
    return new Map(states)
  })
}

function describeKept(
  { contents, ...mail }: KeptMail,
  isShown: boolean,
  states: ReadonlyMap<string, OtpState>,
): ListedMail {
  const { id, to, kind, at, state, failure } = mail
  const { subject = null, otp = null, link = null } = (isShown && contents) || {}
  const otpState = states.get(id) ?? null
  return { id, to, kind, at, state, attempts: 1, failure, subject, otp, otpState, link }
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
    otpState: otp === null ? null : 'open',
    link,
  }
}

function unknownMail(): SatchelError {
  return new SatchelError('UNKNOWN_OBJECT', 'There is no mail with this id: it may be too old')
}
