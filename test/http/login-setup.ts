import type { MailVariables } from '../../src/domain/store/mailer'
import { openSession } from '../../src/control/session'
import { createDevice } from '../auth/device'
import { PLAIN_IMPORT, setupServer, type TestServer } from '../setup'
import { until } from '../timing'

export const ALICE = 'alice@example.com'
export const FOO = 'foo@demo.local'

export const { public_key, refreshRequest } = createDevice()

export interface Body {
  readonly [name: string]: unknown
  readonly otp_id: string
  readonly accessToken: string
  readonly refreshToken: string
}

/** A server that people log in to by themselves; its mails are printed. */
export async function setupLogin(flags: Readonly<Record<string, unknown>> = {}) {
  const server = await setupServer(flags)
  const commands = await openSession(server.folder, () => undefined)
  const send = (parameters: object, headers: Record<string, string> = {}) =>
    fetch(`${server.main}/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(parameters),
    })
  const ask = (changes: object = {}, headers: Record<string, string> = {}) =>
    send({ grant_type: 'otp', email: ALICE, scopes: ['ACCESS_DB'], ...changes }, headers)
  return {
    ...server,
    commands,
    send,
    ask,
    give: (otp_id: string, otp: string, changes: object = {}) => ask({ otp_id, otp, ...changes }),
    mail: () => printedMail(server),
    async importDemoUser(): Promise<void> {
      const upload = new Blob([JSON.stringify({ demoUsers: { [FOO]: {} } })]).stream()
      await commands.run('import', PLAIN_IMPORT, { upload })
    },
  }
}

export type LoginServer = Awaited<ReturnType<typeof setupLogin>>

export async function bodyOf(answer: Response): Promise<Body> {
  return (await answer.json()) as Body
}

interface PrintedMail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly variables: MailVariables['otp']
}

/** The newest mail on the terminal; mails are printed soon after the answer. */
async function printedMail({ lines }: TestServer): Promise<PrintedMail> {
  const newest = () => lines.findLast((line) => line.includes('"logger":"mail"'))
  await until(() => newest() !== undefined)
  return JSON.parse(newest() ?? '') as PrintedMail
}
