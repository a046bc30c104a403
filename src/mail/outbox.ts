import type { Clock } from '../clock'
import type { Database } from '../domain/store/store'
import { DeliveryError } from './message'
import type { QueuedMail } from '../domain/store/mails'
import { SECOND, MINUTE } from '../domain/value/time'

/**
 * Sends the mails that wait in a database, a few at a time, until each was sent or expired, while this
 * process has the duty `mails`.
 */
export interface Outbox extends AsyncDisposable {
  /** Resolves when no mail is on its way and none is due. */
  idle(): Promise<void>
}

export interface OutboxParts {
  readonly database: Database
  readonly clock: Clock
  /** Throws `DeliveryError`, and soon when `signal` aborts. */
  readonly deliver: (mail: QueuedMail, signal: AbortSignal) => Promise<void>
  /** Told what went wrong; `isFinal` when the mail is given up. */
  readonly report: (mail: QueuedMail, error: unknown, isFinal: boolean) => void
}

/** How long to wait after each try, and after all further ones. */
const PAUSES_MS = [2 * SECOND, 10 * SECOND, 30 * SECOND, 2 * MINUTE, 5 * MINUTE]
const MAX_PAUSE_MS = 15 * MINUTE
const CONCURRENCY = 4
/** The interval of checks while mails wait, independent of the clock, which may jump. */
const LOOK_EVERY_MS = MINUTE
/** How long a mail that is on its way may take when the database closes. */
const GRACE_MS = SECOND

/**
 * Mails are stored in the database by the unit that needs them: a crash loses none,
 * and the unit waits for no mail server. A mail may be sent twice after a crash.
 */
export function createOutbox({ database, clock, deliver, report }: OutboxParts): Outbox {
  const sending = new Map<string, Promise<void>>()
  /** Sent or given up, but not yet removed from the database. */
  const sent = new Set<string>()
  const stop = new AbortController()
  let isStopping = false
  let looking: Promise<void> | undefined
  let isAsked = false
  let timer: Timer | undefined

  const duty = database.duty('mails', wake)

  function wake(): void {
    isAsked = true
    if (isStopping || !duty.isMine || looking !== undefined) return
    looking = look().finally(() => {
      looking = undefined
    })
  }

  async function look(): Promise<void> {
    clearTimeout(timer)
    let pause: number | undefined
    while (isAsked && duty.isMine && !isStopping) {
      isAsked = false
      // The store may have failed; pending mails are safe in it.
      pause = await sendDue().catch(() => LOOK_EVERY_MS)
    }
    if (pause !== undefined && duty.isMine && !isStopping) timer = setTimeout(wake, pause).unref()
  }

  /** Starts to send mails that are due, a few at once. Returns in how many ms to look again. */
  async function sendDue(): Promise<number | undefined> {
    const now = clock.now()
    const { due, next } = await database.read((tx) => {
      const next = tx.mails.due(Infinity, 1)[0]?.due
      // Later than any pause: the clock jumped back since.
      const by = next !== undefined && next > now + MAX_PAUSE_MS ? next : now
      return { next, due: tx.mails.due(by, CONCURRENCY + sending.size) }
    })
    for (const mail of due) {
      if (sending.size >= CONCURRENCY || isStopping || !duty.isMine) break
      if (!sending.has(mail.id)) sending.set(mail.id, sendOne(mail))
    }
    return next === undefined ? undefined : Math.min(Math.max(next - now, SECOND), LOOK_EVERY_MS)
  }

  async function sendOne(mail: QueuedMail): Promise<void> {
    try {
      if (sent.has(mail.id) || (await isDone(mail))) {
        sent.add(mail.id)
        await database.write((tx) => void tx.mails.remove(mail.id))
        sent.delete(mail.id)
      }
    } catch (error) {
      if (stop.signal.aborted) return
      report(mail, error, false)
      // The mail is still stored: without a pause the mail would be sent again at once.
      await pauseUnless(stop.signal, LOOK_EVERY_MS)
    } finally {
      sending.delete(mail.id)
      wake()
    }
  }

  /** True when the mail was sent or is given up; else it is put back for later. */
  async function isDone(mail: QueuedMail): Promise<boolean> {
    try {
      if (mail.expires <= clock.now())
        throw new DeliveryError('The mail expired before it could be sent', true)
      await deliver(mail, stop.signal)
      return true
    } catch (error) {
      if (stop.signal.aborted) throw error
      const isFinal = error instanceof DeliveryError && error.isFinal
      report(mail, error, isFinal)
      if (!isFinal) await postpone(mail)
      return isFinal
    }
  }

  async function postpone(mail: QueuedMail): Promise<void> {
    const due = clock.now() + (PAUSES_MS[mail.attempts] ?? MAX_PAUSE_MS)
    await database.write((tx) => {
      // The recipient may have been deleted meanwhile, and the mail with them.
      const isWanted = tx.mails.remove(mail.id)
      if (isWanted) tx.mails.put({ ...mail, attempts: mail.attempts + 1, due })
    })
  }

  const unsubscribe = database.onCommit(({ mails }) => {
    if (mails) wake()
  })
  wake()
  return {
    async idle() {
      while (looking !== undefined || sending.size > 0) {
        await Promise.all([looking, ...sending.values()])
      }
    },
    async [Symbol.asyncDispose]() {
      isStopping = true
      unsubscribe()
      clearTimeout(timer)
      const deadline = setTimeout(() => stop.abort(), GRACE_MS)
      await looking
      await Promise.all(sending.values())
      clearTimeout(deadline)
      await duty[Symbol.asyncDispose]()
    },
  }
}

async function pauseUnless(signal: AbortSignal, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  const end = () => resolve()
  signal.addEventListener('abort', end, { once: true })
  await promise
  signal.removeEventListener('abort', end)
  clearTimeout(timer)
}
