import { codeAndLinkOf } from '../domain/store/mailer'
import { foldEmail } from '../domain/value/email'
import { randomToken } from '../domain/value/id'
import type { KeptMail, Mailbox } from '../host/test-mode'

/** So many are kept; older ones are dropped. */
const KEPT = 1_000

export function createMailbox(): Mailbox {
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
    keep({ letter, subject, text, html }) {
      const { to, kind } = letter
      const mail = { id: randomToken(9), to, kind, subject, ...codeAndLinkOf(letter), text, html }
      mails = [...mails, mail].slice(-KEPT)
      wakeAll()
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
