import { codeAndLinkOf, type Letter } from '../domain/store/mailer'
import { foldEmail } from '../domain/value/email'
import type { Message } from '../mail/message'

/** The last mails of one database, in memory. */
export interface Mailbox {
  /** Oldest first. */
  readonly mails: readonly KeptMail[]
  keep(mail: KeptMail): void
  /** False when there is none with this id. */
  remove(id: string): boolean
  /** Removes the mails to an address. */
  forget(address: string): void
  /** Replaces all mails, for a snapshot or a reset. */
  replace(mails: readonly KeptMail[]): void
  /**
   * The mails to this address, or to all, that came after the mail `after`, newest first. While there is
   * none it waits for one, up to `wait` ms of real time.
   */
  find(to: string | null, after: string | null, wait: number): Promise<readonly KeptMail[]>
}

/** A mail that has left, or was given up. */
export interface KeptMail {
  readonly id: string
  readonly to: string
  readonly kind: string
  /** ms since the epoch. */
  readonly at: number
  readonly state: 'sent' | 'printed' | 'failed'
  /** Why it was given up, or null. */
  readonly failure: string | null
  /** Null where contents are not kept: a reader of mails could log in as anybody. */
  readonly contents: MailContents | null
}

export interface MailContents {
  readonly from: string
  readonly subject: string
  /** The one-time code; null in other mails. */
  readonly otp: string | null
  /** The id of that code. */
  readonly otpId: string | null
  /** The link of the mail; null when it has none. */
  readonly link: string | null
  readonly text: string
  readonly html: string
}

/** `most`: older mails are dropped. */
export function createMailbox(most: number): Mailbox {
  let mails: readonly KeptMail[] = []
  const waiting = new Set<() => void>()

  function matching(to: string | null, after: string | null): KeptMail[] {
    const address = to === null ? null : foldEmail(to)
    const start = after === null ? 0 : mails.findIndex(({ id }) => id === after) + 1
    return mails
      .slice(start)
      .filter((mail) => address === null || foldEmail(mail.to) === address)
      .toReversed()
  }

  function wakeAll(): void {
    for (const wake of waiting) wake()
  }

  return {
    get mails() {
      return mails
    },
    keep(mail) {
      mails = [...mails, mail].slice(-most)
      wakeAll()
    },
    remove(id) {
      const before = mails
      mails = mails.filter((mail) => mail.id !== id)
      return mails.length < before.length
    },
    forget(address) {
      const folded = foldEmail(address)
      mails = mails.filter(({ to }) => foldEmail(to) !== folded)
    },
    replace(others) {
      mails = others
      wakeAll()
    },
    async find(to, after, wait) {
      const ends = performance.now() + wait
      for (;;) {
        const found = matching(to, after)
        const left = ends - performance.now()
        if (found.length > 0 || left <= 0) return found
        await woken(left)
      }
    },
  }

  /** Resolves with the next mail, or after `ms`. */
  function woken(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        waiting.delete(done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      timer.unref()
      waiting.add(done)
    })
  }
}

/** A message that has left, as it is kept. */
export function keptMail(
  { id, letter, from, subject, text, html, date }: Message,
  state: 'sent' | 'printed',
  hasContents: boolean,
): KeptMail {
  const { to, kind } = letter
  const otpId = letter.kind === 'otp' ? letter.variables.otp_id : null
  const contents = hasContents
    ? { from, subject, ...codeAndLinkOf(letter), otpId, text, html }
    : null
  return { id, to, kind, at: date, state, failure: null, contents }
}

/** A mail that was given up at `at`, ms. Its contents are not known. */
export function failedMail(
  id: string,
  letter: Letter | undefined,
  at: number,
  failure: string,
): KeptMail {
  const { to = '', kind = '' } = letter ?? {}
  return { id, to, kind, at, state: 'failed', failure, contents: null }
}
