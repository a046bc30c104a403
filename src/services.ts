import { createAuthority } from './auth/authority'
import { openSecretKey } from './auth/secret-key'
import { createVault } from './auth/vault'
import type { Clock } from './clock'
import type { Config } from './config'
import type { Letter } from './domain/mailer'
import type { Database } from './domain/store'
import type { Services } from './http/hosts'
import { mailLog } from './log'
import { createMailer } from './mail/mailer'
import type { Message } from './mail/message'
import { createOutbound } from './outbound'

/** What a server does with mails while nobody has said how to send them (design.md §2 Development). */
export interface MailPrinter {
  isPrinting(): boolean
  print(message: Message): void
}

/**
 * Opens what belongs to one database beside its data. Without a `printer` it is for a command: then
 * nothing that waits is sent.
 */
export function createServices(
  config: Config,
  clock: Clock,
  printer?: MailPrinter,
): (database: Database) => Promise<Services> {
  const { maxExpiresIn, maxNotBefore } = config
  const server = {
    address: config.smtpUrl ?? config.mailHook,
    sender: config.mailFrom,
    call: createOutbound({ allowed: config.allowPrivateAddresses }),
    isPrinting: () => printer?.isPrinting() ?? false,
    print: (message: Message) => printer?.print(message),
  }

  return async (database) => {
    await using undo = new AsyncDisposableStack()
    const secretKey = await openSecretKey(database, config.secretKey)
    const mailer = undo.use(
      createMailer({
        database,
        clock,
        vault: createVault(secretKey),
        server,
        isSending: printer !== undefined,
        report: (...failure) => reportMail(database, ...failure),
      }),
    )
    const limits = { maxExpiresIn, maxNotBefore }
    const authority = await createAuthority(database, clock, secretKey, limits)
    undo.move()
    return { authority, mailer }
  }
}

function reportMail(
  { name }: Database,
  letter: Letter | undefined,
  error: unknown,
  isFinal: boolean,
): void {
  const about = { database: name, to: letter?.to, kind: letter?.kind, error }
  if (isFinal) mailLog.error('A mail was given up', about)
  else mailLog.warning('A mail did not go and is tried again', about)
}
