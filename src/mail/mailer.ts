import type { Clock } from '../clock'
import { SatchelError } from '../domain/value/error'
import { randomToken } from '../domain/value/id'
import type { Letter, Mailer, MailRoute, WaitingMail, Wording } from '../domain/store/mailer'
import type { Database, ReadTx, WriteTx, Write } from '../domain/store/store'
import type { SealedText, Vault } from '../domain/store/vault'
import { newWebhookSecret } from '../domain/value/webhook-signature'
import type { Outbound } from '../net/outbound'
import { describeMailAddress, isMailHook, NOBODY, parseMailAddress, usualSender } from './address'
import { hookTransport } from './hook'
import { DeliveryError, type Message, parseSender, type Transport } from './message'
import { createOutbox, type Outbox } from './outbox'
import { smtpTransport } from './smtp'
import { sampleLetter } from './samples'
import { BUILT_IN_TEMPLATES, listTemplates, tryWording, wordMail } from './templates'
import { recipientOf, type QueuedMail } from '../domain/store/mails'

/** The mail settings of the server, for databases without their own. */
export interface ServerMail {
  /** As `parseMailAddress` reads it, or null. */
  readonly address: string | null
  /** As `parseSender` reads it, or null. */
  readonly sender: string | null
  /** Signs requests to `address` when that is a web hook. */
  readonly hookSecret: string | null
  /** Calls web hooks. */
  readonly call: Outbound
  /** True while mails without an address are printed (design.md §2 Development). */
  isPrinting(): boolean
  print(message: Message): void
}

export interface MailerParts {
  readonly database: Database
  readonly clock: Clock
  readonly vault: Vault
  readonly server: ServerMail
  /** Called with each mail that has left. */
  readonly left: (message: Message, state: Way['state']) => void
  /** Called with each mail that is given up, and a sentence that says why. */
  readonly failed: (id: string, letter: Letter | undefined, failure: string) => void
  /** Completes a letter with facts that are looked up when it leaves. `now` in ms. */
  readonly complete: (tx: ReadTx, letter: Letter, now: number) => Letter
  /** False for a command: the server sends the waiting mails. */
  readonly isSending: boolean
  /** Called when a mail could not be sent; `isFinal` when it never will be. */
  readonly report: (letter: Letter | undefined, error: unknown, isFinal: boolean) => void
}

/** The mailer of one database, with its own settings and templates or those of the server. */
export function createMailer(parts: MailerParts): Mailer & Outbox {
  const { database, clock, vault, server } = parts
  /** Why waiting mails could not be sent, by their ids. */
  const failures = new Map<string, string>()
  const outbox = parts.isSending
    ? createOutbox({
        database,
        clock,
        deliver: async (mail, signal) =>
          void (await deliver(mail.id, openLetter(vault, mail), signal)),
        report,
      })
    : NO_OUTBOX

  function report(mail: QueuedMail, error: unknown, isFinal: boolean): void {
    const letter = findLetter(vault, mail)
    const failure = error instanceof DeliveryError ? error.message : 'The log says more'
    failures.delete(mail.id)
    if (isFinal) parts.failed(idOf(mail.id), letter, failure)
    else if (failures.size < MAX_FAILURES) failures.set(mail.id, failure)
    parts.report(letter, error, isFinal)
  }

  async function deliver(
    mailId: string,
    given: Letter,
    signal: AbortSignal,
    own?: Wording,
  ): Promise<Way> {
    const { letter, way, templates } = await database.read((tx) => {
      const letter = parts.complete(tx, given, clock.now())
      return { letter, way: findWay(tx), templates: listTemplates(tx) }
    })
    if (way === undefined) throw new DeliveryError(NOT_CONFIGURED, false)
    const wording = own ?? (await wordMail(templates, letter.kind, { ...letter.variables }))
    const { from } = way.route
    const message = { id: idOf(mailId), letter, from, ...wording, date: clock.now() }
    await way.transport(message, signal)
    failures.delete(mailId)
    parts.left(message, way.state)
    return way
  }

  async function deliverOnce(
    letter: Letter,
    signal: AbortSignal,
    wording?: Wording,
  ): Promise<MailRoute> {
    const { route } = await deliver(randomToken(12), letter, signal, wording)
    return route
  }

  /** The current way for mails: that of the database, that of the server, or the terminal. */
  function findWay(tx: ReadTx): Way | undefined {
    return wayOf(server, addressing(findMailSettings(tx)))
  }

  function addressing(own: MailSettings): Addressing {
    const sender = own.sender ?? server.sender
    const { sealedAddress, sealedSecret } = own
    if (sealedAddress === null) {
      return { address: server.address, sender, hookSecret: server.hookSecret, isOwn: false }
    }
    const hookSecret = sealedSecret === null ? null : vault.open(sealedSecret, SECRET_LABEL)
    return { address: vault.open(sealedAddress, ADDRESS_LABEL), sender, hookSecret, isOwn: true }
  }

  function putUsable(tx: WriteTx, settings: MailSettings): void {
    requireUsable(addressing(settings))
    putMailSettings(tx, settings)
  }

  function describe(mail: QueuedMail): WaitingMail {
    const { id, created, attempts } = mail
    const failure = failures.get(id) ?? null
    return { id: idOf(id), letter: findLetter(vault, mail), created, attempts, failure }
  }

  return {
    ...outbox,

    isReady(tx) {
      return findWay(tx) !== undefined
    },

    post(tx, letter) {
      requireWay(findWay(tx))
      const id = randomToken(12)
      const now = clock.now()
      const sealed = vault.seal(JSON.stringify(letter), labelOf(id))
      tx.mails.put({
        id,
        recipient: recipientOf(letter.to),
        sealed,
        attempts: 0,
        created: now,
        due: now,
        expires: letter.expires,
      })
    },

    async waiting(limit) {
      const mails = await database.read((tx) => tx.mails.due(Infinity, limit))
      return mails.map(describe)
    },

    async findWaiting(id) {
      const mail = await database.read((tx) => findWaiting(tx, id))
      return mail && describe(mail)
    },

    retry: (id, write) =>
      write((tx) => {
        const mail = findWaiting(tx, id)
        if (mail !== undefined) tx.mails.put({ ...mail, due: clock.now() })
        return mail !== undefined
      }),

    discard: (id, write) =>
      write((tx) => {
        const mail = findWaiting(tx, id)
        return mail !== undefined && tx.mails.remove(mail.id)
      }),

    route: () => database.read((tx) => findWay(tx)?.route),

    configure: (change, write: Write = (work) => database.write(work)) =>
      write((tx) => {
        const before = findMailSettings(tx)
        const { address, sender = before.sender } = change
        if (address === undefined) {
          putUsable(tx, { ...before, sender })
          return null
        }
        const isHook = address !== null && isMailHook(address)
        const secret = isHook ? newWebhookSecret() : null
        putUsable(tx, {
          sender,
          sealedAddress: address && vault.seal(address, ADDRESS_LABEL),
          sealedSecret: secret && vault.seal(secret, SECRET_LABEL),
        })
        return secret
      }),

    trySend: (letter) => trying((signal) => deliverOnce(letter, signal)),

    async tryTemplates(to, parts, variables) {
      const wording = await tryWording(parts, variables)
      const letter = sampleLetter('otp', to, database.name, clock.now())
      return await trying((signal) => deliverOnce(letter, signal, wording))
    },
  }
}

/**
 * Sends a mail of the server itself, with its own settings and the built-in templates, at once and once.
 * `now` in ms. Throws `MAIL_NOT_CONFIGURED` and `MAIL_FAILED`.
 */
export async function sendServerMail(
  server: ServerMail,
  letter: Letter,
  now: number,
): Promise<void> {
  const { transport, route } = requireWay(wayOf(server, { ...server, isOwn: false }))
  const { from } = route
  await trying(async (signal) => {
    const wording = await wordMail(BUILT_IN_TEMPLATES, letter.kind, { ...letter.variables })
    await transport({ id: idOf(randomToken(12)), letter, from, ...wording, date: now }, signal)
  })
}

/** Throws `MAIL_FAILED` with what the other side said. */
async function trying<T>(send: (signal: AbortSignal) => Promise<T>): Promise<T> {
  try {
    return await send(AbortSignal.timeout(TRY_TIMEOUT_MS))
  } catch (error) {
    if (!(error instanceof DeliveryError)) throw error
    throw new SatchelError('MAIL_FAILED', error.message, { cause: error })
  }
}

function wayOf(
  server: ServerMail,
  { address, sender, hookSecret, isOwn }: Addressing,
): Way | undefined {
  if (address !== null) {
    const from = sender ?? usualSender(address) ?? NOBODY
    return {
      transport: transportTo(address, hookSecret, server.call),
      state: 'sent',
      route: { to: describeMailAddress(address), from, isOwn },
    }
  }
  if (!server.isPrinting()) return undefined
  return {
    transport: async (message) => server.print(message),
    state: 'printed',
    route: { to: 'the terminal of the server', from: sender ?? NOBODY, isOwn },
  }
}

/** Throws `MAIL_NOT_CONFIGURED`. */
function requireWay(way: Way | undefined): Way {
  if (way !== undefined) return way
  throw new SatchelError('MAIL_NOT_CONFIGURED', NOT_CONFIGURED, { retryAfter: 60 })
}

function transportTo(address: string, hookSecret: string | null, call: Outbound): Transport {
  const target = parseMailAddress(address)
  if (target.kind !== 'hook') return smtpTransport(target)
  if (hookSecret !== null) return hookTransport(target.url, hookSecret, call)
  return async () => {
    throw new DeliveryError('The mail hook has no secret: set its address again', false)
  }
}

/** The route of mails and its transport. */
interface Way {
  readonly route: MailRoute
  readonly transport: Transport
  /** The state of a mail that has gone this way. */
  readonly state: 'sent' | 'printed'
}

interface Addressing {
  readonly address: string | null
  readonly sender: string | null
  readonly hookSecret: string | null
  /** True when the database has its own address. */
  readonly isOwn: boolean
}

/** The id of a mail outside of its database. */
function idOf(mailId: string): string {
  return `msg_${mailId}`
}

function findWaiting(tx: ReadTx, id: string): QueuedMail | undefined {
  return tx.mails.due(Infinity, MAX_WAITING_LETTERS).find((mail) => idOf(mail.id) === id)
}

/** A person looks at so many waiting mails at most. */
const MAX_WAITING_LETTERS = 1_000
const MAX_FAILURES = 1_000
const NO_OUTBOX: Outbox = { async idle() {}, async [Symbol.asyncDispose]() {} }
const ADDRESS_LABEL = 'mail address'
const SECRET_LABEL = 'mail hook'
/** The sealed settings, each with its label. */
const SEALED = [
  ['sealedAddress', ADDRESS_LABEL],
  ['sealedSecret', SECRET_LABEL],
] as const
const TRY_TIMEOUT_MS = 30_000
const NOT_CONFIGURED =
  'Mail is not configured here: the administrator sets a mail server with SATCHEL_SMTP_URL or satchel mail set, or starts the server with --print-mails for tests'

/** Throws `UNPROCESSABLE`. */
function requireUsable({ address, sender }: Addressing): void {
  try {
    if (sender !== null) parseSender(sender)
    if (address === null || sender !== null || usualSender(address) !== null) return
  } catch (error) {
    const expected = error instanceof Error ? error.message : String(error)
    throw new SatchelError('UNPROCESSABLE', `A mail setting must be ${expected}`)
  }
  throw new SatchelError('UNPROCESSABLE', 'This mail server needs a sender: give --from')
}

/** The mail settings and the letters that wait, as they are sealed. A letter that cannot be opened is not sent. */
export function sealedMails(tx: ReadTx): SealedText[] {
  const known = readMailSettings(tx)
  const settings = SEALED.flatMap(([name, label]): SealedText[] => {
    const sealed = known[name]
    if (sealed === null) return []
    const replace: SealedText['replace'] = (tx, sealed) =>
      putMailSettings(tx, { ...readMailSettings(tx), [name]: sealed })
    return [{ sealed, label, replace }]
  })
  const letters = tx.mails.due(Number.MAX_SAFE_INTEGER, ALL).map((mail): SealedText => {
    return {
      sealed: mail.sealed,
      label: labelOf(mail.id),
      mayBeLost: true,
      replace: (tx, sealed) => tx.mails.put({ ...mail, sealed }),
    }
  })
  return [...settings, ...letters]
}

const ALL = Number.MAX_SAFE_INTEGER

/** Throws a final `DeliveryError` when it was sealed with another key. */
function openLetter(vault: Vault, mail: QueuedMail): Letter {
  try {
    return JSON.parse(vault.open(mail.sealed, labelOf(mail.id))) as Letter
  } catch (error) {
    throw new DeliveryError('It was sealed with another key', true, error)
  }
}

function findLetter(vault: Vault, mail: QueuedMail): Letter | undefined {
  try {
    return openLetter(vault, mail)
  } catch {
    return undefined
  }
}

function labelOf(id: string): string {
  return `mail ${id}`
}

/** The mail settings of one database, where they differ from the server's. */
export interface MailSettings {
  /** `Name <address>`, or null for the server's. */
  readonly sender: string | null
  /** `smtp://…`, `smtps://…` or the https address of a web hook, sealed; null for the server's. */
  readonly sealedAddress: string | null
  /** Signs requests to the web hook, sealed; null for a mail server. */
  readonly sealedSecret: string | null
}

/** The current settings, remembered because every login needs them. */
export function findMailSettings(tx: ReadTx): MailSettings {
  return tx.remember('mail settings', () => readMailSettings(tx))
}

function readMailSettings(tx: ReadTx): MailSettings {
  return { ...DEFAULT, ...tx.settings.find(SETTING)?.value }
}

export function putMailSettings(tx: WriteTx, settings: MailSettings): void {
  tx.settings.put({ id: SETTING, value: { ...settings } })
}

const SETTING = 'mail'
const DEFAULT: MailSettings = { sender: null, sealedAddress: null, sealedSecret: null }
