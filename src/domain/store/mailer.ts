import type { ReadTx, WriteTx, Write } from './store'

/** The variables of the templates of each kind of mail (protocol.md §13.2). */
export interface MailVariables {
  readonly otp: {
    readonly otp: string
    readonly otp_id: string
    readonly email: string
    /** The requesting application: its name or host, or the database. */
    readonly originName: string
    /** The page that asks, `https://app.example.com`, or empty. */
    readonly origin: string
    /** Logs in without the code being typed; empty when no page asks. */
    readonly link: string
    /** How long the code is good for. */
    readonly minutes: number
    /** Why the code will not log this address in, for its owner alone; empty when it will. */
    readonly notice: string
  }
  readonly invite: {
    readonly email: string
    /** The invited person's name, or empty. */
    readonly name: string
    /** The name of the realm, or empty. */
    readonly realmName: string
    readonly inviterName: string
    /** Empty when it is the name. */
    readonly inviterEmail: string
    /** The application of the realm: its name or host, or the database. */
    readonly originName: string
    /** The page of that application, `https://app.example.com`, or empty. */
    readonly origin: string
    /** Where the invitation is accepted or rejected. */
    readonly link: string
    /** How long the link is good for. */
    readonly days: number
  }
}

export type MailKind = keyof MailVariables

/** A mail as the domain sees it: what it is about and for whom. */
export type Letter<Kind extends MailKind = MailKind> = {
  readonly [K in Kind]: LetterOf<K>
}[Kind]

interface LetterOf<Kind extends MailKind> {
  readonly kind: Kind
  /** One address. */
  readonly to: string
  readonly variables: MailVariables[Kind]
  /** When it is not worth sending any more, ms since the epoch. */
  readonly expires: number
}

/** The one-time code and the link of a letter; null when it has none. */
export function codeAndLinkOf({ variables }: Letter): {
  readonly otp: string | null
  readonly link: string | null
} {
  return { otp: 'otp' in variables ? variables.otp : null, link: variables.link || null }
}

/** The words of a mail. */
export interface Wording {
  readonly subject: string
  readonly text: string
  readonly html: string
}

/** A file of the public command line client, below its folder `dexie-cloud` (protocol.md §9.3). */
export interface TemplateFile {
  readonly path: string
  readonly content: string
}

/** A part of a mail: `otp-subject` in Handlebars. */
export interface MailTemplate {
  readonly id: string
  readonly content: string
}

/** Where the mails of a database go. */
export interface MailRoute {
  /** `smtp://mail@smtp.example.com:587`, without what must not be seen. */
  readonly to: string
  /** `Name <address>` */
  readonly from: string
  /** True when the database says so, not its server. */
  readonly isOwn: boolean
}

/** A mail that was not sent yet. Times in ms since the epoch. */
export interface WaitingMail {
  readonly id: string
  /** Undefined when it was sealed with another key. */
  readonly letter: Letter | undefined
  readonly created: number
  /** How often it was tried. */
  readonly attempts: number
  /** Why it could not be sent, as far as this process knows. */
  readonly failure: string | null
}

/** The settings of a database; absent ones stay unchanged, null restores those of the server. */
interface MailChange {
  readonly address?: string | null
  readonly sender?: string | null
}

/** The mail room of one database. */
export interface Mailer extends AsyncDisposable {
  /** Whether mails can be sent at all, as far as the settings say. */
  isReady(tx: ReadTx): boolean
  /**
   * Puts a letter down in the unit that makes it necessary, which is what it costs: it is sent
   * after the commit, and again until it has gone or expires. Throws `MAIL_NOT_CONFIGURED`.
   */
  post(tx: WriteTx, letter: Letter): void
  /** Up to `limit` mails that wait to be sent, the longest waiting first. */
  waiting(limit: number): Promise<readonly WaitingMail[]>
  /** A mail that waits to be sent. */
  findWaiting(id: string): Promise<WaitingMail | undefined>
  /** Sends a waiting mail now. `write` runs the unit of the change. False when there is none with this id. */
  retry(id: string, write: Write): Promise<boolean>
  /** Removes a waiting mail. `write` runs the unit of the change. False when there is none with this id. */
  discard(id: string, write: Write): Promise<boolean>
  /** Undefined when mails cannot be sent. */
  route(): Promise<MailRoute | undefined>
  /**
   * Returns the new secret that signs requests when the new address is a web hook, else null. It is not
   * shown again. `write` runs the unit of the change. Throws `UNPROCESSABLE`.
   */
  configure(change: MailChange, write?: Write): Promise<string | null>
  /** Sends a letter at once and once. Throws `MAIL_FAILED` with what the other side said. */
  trySend(letter: Letter): Promise<MailRoute>
  /**
   * `trySend` for templates that are not stored, filled in with these variables. Throws `UNPROCESSABLE`
   * naming the part with the first mistake.
   */
  tryTemplates(
    to: string,
    parts: Wording,
    variables: Readonly<Record<string, unknown>>,
  ): Promise<MailRoute>
}
