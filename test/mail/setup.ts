import { randomBytes } from 'node:crypto'
import { createVault } from '../../src/auth/key/seal'
import type { Letter } from '../../src/domain/store/mailer'
import type { Database } from '../../src/domain/store/store'
import { createMailer, type MailerParts, type ServerMail } from '../../src/mail/mailer'
import type { Message } from '../../src/mail/message'
import { createOutbound } from '../../src/net/outbound'
import { parseNetworks } from '../../src/net/networks'
import { setupStore, MINUTE, type TestClock } from '../auth/setup'

export const ALICE = 'alice@example.com'
export const HOOK_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** A one-time code for Alice, good for ten minutes. */
export function otpLetter(clock: TestClock, changes: Partial<Letter<'otp'>> = {}): Letter<'otp'> {
  return {
    kind: 'otp',
    to: ALICE,
    variables: {
      otp: 'K7QM2XWD',
      otp_id: 'id-of-the-code',
      email: ALICE,
      originName: 'app.example.com',
      origin: 'https://app.example.com',
      link: 'https://app.example.com/?otpId=id-of-the-code&otp=K7QM2XWD',
      minutes: 10,
      notice: '',
    },
    expires: clock.now() + 10 * MINUTE,
    ...changes,
  }
}

export interface Failure {
  readonly to: string | undefined
  readonly message: string
  readonly isFinal: boolean
}

/** The mail room of a new database. Nothing is printed unless `isPrinting` says so. */
export async function setupMailer(
  server: Partial<ServerMail> = {},
  complete: MailerParts['complete'] = (_tx, letter) => letter,
) {
  const base = await setupStore()
  const database = await base.store.create('main')
  const printed: Message[] = []
  const failures: Failure[] = []
  const vault = createVault(randomBytes(32))
  const open = (over: Partial<MailerParts> = {}) =>
    createMailer({
      database,
      clock: base.clock,
      vault,
      complete,
      isSending: true,
      left: () => undefined,
      failed: () => undefined,
      server: {
        address: null,
        sender: 'Test <test@example.com>',
        hookSecret: HOOK_SECRET,
        call: createOutbound({ allowed: parseNetworks('127.0.0.0/8')! }),
        isPrinting: () => false,
        print: (message) => void printed.push(message),
        ...server,
      },
      report(letter, error, isFinal) {
        const message = error instanceof Error ? error.message : String(error)
        failures.push({ to: letter?.to, message, isFinal })
      },
      ...over,
    })
  const mailer = open()
  return {
    ...base,
    database,
    mailer,
    printed,
    failures,
    open,
    post: (letter: Letter = otpLetter(base.clock)) =>
      database.write((tx) => mailer.post(tx, letter)),
    waiting: () => countWaiting(database),
    async [Symbol.asyncDispose]() {
      await mailer[Symbol.asyncDispose]()
      await base[Symbol.asyncDispose]()
    },
  }
}

async function countWaiting(database: Database): Promise<number> {
  const mails = await database.read((tx) => tx.mails.due(Number.MAX_SAFE_INTEGER, 1000))
  return mails.length
}
