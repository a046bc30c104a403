import { systemSentence } from '../net/system-error'
import { readFile } from 'node:fs/promises'
import type { Transporter } from 'nodemailer'
import type { SmtpAddress } from './address'
import { DeliveryError, type Message, type Transport, parseSender } from './message'
import { SECOND } from '../domain/value/time'

/** Sends messages to a mail server, each over its own connection. */
export function smtpTransport(address: SmtpAddress): Transport {
  return (message, signal) =>
    connected(address, (transporter) =>
      transporter.sendMail({ ...mailOf({ ...message, to: message.letter.to }), signal }),
    )
}

/** The source of a mail, as mail programs show it. */
export async function sourceOf(mail: MailParts): Promise<string> {
  const { createTransport } = await import('nodemailer')
  const transporter = createTransport({ streamTransport: true, buffer: true })
  const { message } = (await transporter.sendMail({
    ...mailOf(mail),
    disableFileAccess: true,
    disableUrlAccess: true,
  })) as { message: Buffer }
  return message.toString()
}

/** Connects to a mail server and logs in, without a mail. Throws `DeliveryError`. */
export async function checkSmtp(address: SmtpAddress): Promise<void> {
  await connected(address, (transporter) => transporter.verify())
}

async function connected(
  address: SmtpAddress,
  work: (transporter: Transporter) => Promise<unknown>,
): Promise<void> {
  const { host, port, tls, user, password } = address
  // Loaded here: few processes send mails, and every process starts.
  const { createTransport } = await import('nodemailer')
  const transporter = createTransport({
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'required',
    ignoreTLS: tls === 'off',
    opportunisticTLS: tls === 'offered',
    tls: { ...(await trust(address)), minVersion: 'TLSv1.2' },
    ...(user === null || password === null ? {} : { auth: { user, pass: password } }),
    connectionTimeout: 10 * SECOND,
    greetingTimeout: 10 * SECOND,
    socketTimeout: 20 * SECOND,
    dnsTimeout: 5 * SECOND,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  try {
    await work(transporter)
  } catch (error) {
    throw explain(error)
  } finally {
    transporter.close()
  }
}

/** Without a name and password there is no secret to protect: any TLS is better than none. */
async function trust({ tls, ca }: SmtpAddress) {
  if (ca === null) return { rejectUnauthorized: tls !== 'offered' }
  try {
    return { ca: await readFile(ca, 'utf8') }
  } catch (cause) {
    throw new DeliveryError(`The certificate ${ca} cannot be read`, false, cause)
  }
}

/** The parts of a mail; `date` in ms since the epoch. */
export type MailParts = Pick<Message, 'from' | 'subject' | 'text' | 'html' | 'date'> & {
  readonly to: string
}

function mailOf({ to, from, subject, text, html, date }: MailParts) {
  return {
    from: parseSender(from),
    to: { name: '', address: to },
    subject,
    text,
    html,
    date: new Date(date),
    // Suppresses automatic replies (RFC 3834).
    headers: { 'Auto-Submitted': 'auto-generated' },
  }
}

/** Refusals of the recipient or the text are final; all others may pass. */
function explain(error: unknown): DeliveryError {
  const { command = '', responseCode = 0, message = '' } = error as Partial<SmtpError>
  const isFinal = responseCode >= 500 && /^(?:RCPT|DATA)/.test(command)
  const sentence = systemSentence(error) ?? (message || 'The mail server failed')
  return new DeliveryError(sentence, isFinal, error)
}

/** The properties that nodemailer adds to its errors. */
interface SmtpError extends Error {
  /** The command that the server answered. */
  readonly command: string
  /** The SMTP reply code, such as 550. */
  readonly responseCode: number
}
