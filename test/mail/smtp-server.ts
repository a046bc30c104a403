import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

/** A mail as a mail server got it. */
export interface ReceivedMail {
  readonly from: string
  readonly to: readonly string[]
  /** Header values by lower-case name, unfolded and decoded. */
  readonly headers: ReadonlyMap<string, string>
  readonly text: string
  readonly html: string
  readonly isEncrypted: boolean
  /** The user name at the mail server. */
  readonly user: string | undefined
}

export interface TestSmtp extends AsyncDisposable {
  readonly port: number
  readonly mails: readonly ReceivedMail[]
  /** The next mail that was not taken yet; fails after 50 s. */
  next(): Promise<ReceivedMail>
}

/** A real mail server on loopback that takes everything unless `options` say otherwise. */
export async function startSmtp(options: SMTPServerOptions = {}, port = 0): Promise<TestSmtp> {
  const mails: ReceivedMail[] = []
  const arrived = new EventTarget()
  let taken = 0
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    closeTimeout: 1,
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const { envelope, secure, user } = session
        mails.push({
          ...readMail(Buffer.concat(chunks).toString('utf8')),
          from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
          to: envelope.rcptTo.map(({ address }) => address),
          isEncrypted: secure,
          user: user as string | undefined,
        })
        arrived.dispatchEvent(new Event('mail'))
        done()
      })
    },
    ...options,
  })
  // A client that goes away in the middle is the client's affair.
  server.on('error', () => undefined)
  server.listen(port, '127.0.0.1')
  await once(server.server, 'listening')
  const address = server.server.address() as AddressInfo
  return {
    port: address.port,
    mails,
    async next() {
      if (mails.length === taken) {
        await once(arrived, 'mail', { signal: AbortSignal.timeout(50_000) })
      }
      taken += 1
      return mails[taken - 1]!
    },
    async [Symbol.asyncDispose]() {
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

function readMail(source: string) {
  const { headers, body } = readPart(source)
  const [, boundary] = /boundary="([^"]+)"/.exec(headers.get('content-type') ?? '') ?? []
  const parts = boundary === undefined ? [] : body.split(`--${boundary}`).slice(1, -1)
  const bodyOf = (type: string) => {
    const part = parts
      .map(readPart)
      .find((part) => part.headers.get('content-type')?.includes(type))
    return part === undefined ? '' : decodeBody(part)
  }
  return { headers, text: bodyOf('text/plain'), html: bodyOf('text/html') }
}

interface Part {
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

function readPart(source: string): Part {
  const [head = '', ...rest] = source.trimStart().split('\r\n\r\n')
  const lines = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n')
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon).toLowerCase(), decodeWords(line.slice(colon + 1).trim())]
  })
  return { headers: new Map(headers), body: rest.join('\r\n\r\n') }
}

function decodeBody({ headers, body }: Part): string {
  const encoding = headers.get('content-transfer-encoding')
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('utf8').trim()
  return (encoding === 'quoted-printable' ? decodeQuoted(body) : body)
    .replaceAll('\r\n', '\n')
    .trim()
}

/** RFC 2047. */
function decodeWords(value: string): string {
  return value
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?utf-8\?([bq])\?([^?]*)\?=/gi, (_, encoding: string, text: string) =>
      encoding.toLowerCase() === 'b'
        ? Buffer.from(text, 'base64').toString('utf8')
        : decodeQuoted(text.replaceAll('_', ' ')),
    )
}

function decodeQuoted(text: string): string {
  const bytes = text
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
