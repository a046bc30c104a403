import { randomBytes } from 'node:crypto'
import { type AuthorityOptions, createAuthority } from '../../src/auth/authority'
import type { TokenRequest } from '../../src/auth/grant/grant'
import type { TokenAnswer } from '../../src/auth/grant/issuer'
import { createClient } from '../../src/domain/database/client'
import type { MailVariables } from '../../src/domain/store/mailer'
import { changePolicy, type Policy } from '../../src/domain/user/policy'
import type { Scope } from '../../src/domain/value/scope'
import { putOne, user } from '../contract/user-fixture'
import { setupMailer } from '../mail/setup'
import { verifyStanding } from './setup'
import { findUser } from '../../src/domain/access/actor'
import type { User, UserFields } from '../../src/domain/store/users'
import { addNotice } from '../../src/auth/otp/otp-request'

export const ALICE = 'alice@example.com'
export const BOB = 'bob@example.com'
export const HERE = '198.51.100.7'

type Sent = MailVariables['otp'] & { readonly to: string; readonly text: string }

/** A database that people log in to by e-mail; its mails end up in a mailbox. */
export async function setupOtp(options: AuthorityOptions = {}) {
  const base = await setupMailer({ isPrinting: () => true }, addNotice)
  return await serve(base, new Uint8Array(randomBytes(32)), options)
}

async function serve(
  base: Awaited<ReturnType<typeof setupMailer>>,
  secretKey: Uint8Array,
  options: AuthorityOptions,
) {
  const { database, clock, mailer } = base
  const authority = await createAuthority(database, clock, secretKey, { mailer, ...options })
  let read = 0

  const send = (parameters: Readonly<Record<string, unknown>>, more: Partial<TokenRequest> = {}) =>
    authority.grant({ parameters, authorization: null, address: HERE, ...more })

  async function tokens(...request: Parameters<typeof send>): Promise<TokenAnswer> {
    const answer = await send(...request)
    if (answer.type === 'tokens') return answer
    throw new Error(`no tokens: ${answer.type}`)
  }

  async function ask(changes: object = {}, more: Partial<TokenRequest> = {}): Promise<string> {
    const request = { grant_type: 'otp', email: ALICE, scopes: ['ACCESS_DB'], ...changes }
    const answer = await send(request, more)
    if (answer.type === 'otp-sent') return answer.otp_id
    throw new Error(`no mail: ${answer.type}`)
  }

  /** The next unread mail. */
  async function mail(): Promise<Sent> {
    await mailer.idle()
    const message = base.printed[read]
    if (message === undefined) throw new Error('the mailbox is empty')
    read += 1
    const { letter, text } = message
    return { ...(letter.variables as MailVariables['otp']), to: letter.to, text }
  }

  return {
    ...base,
    secretKey,
    authority,
    verify: (token: string) => verifyStanding(authority, database, token),
    send,
    tokens,
    ask,
    mail,
    /** Both steps, as the add-on makes them. */
    async login(changes: object = {}): Promise<TokenAnswer> {
      const otp_id = await ask(changes)
      const { otp } = await mail()
      const request = { grant_type: 'otp', email: ALICE, scopes: ['ACCESS_DB'], otp_id, otp }
      return await tokens({ ...request, ...changes })
    },
    setPolicy: (changes: Partial<Policy>) => database.write((tx) => changePolicy(tx, changes)),
    findUser: (id: string) => database.read((tx) => findUser(tx, id)),
    addUser: (id: string, changes: Partial<UserFields> = {}): Promise<User> =>
      putOne(database, user(id, { created: clock.now(), updated: clock.now(), ...changes })),
    addClient: (email: string, ...scopes: Scope[]) =>
      database.write((tx) => createClient(tx, clock, { scopes, email })),
    async [Symbol.asyncDispose]() {
      await authority[Symbol.asyncDispose]()
      await base[Symbol.asyncDispose]()
    },
  }
}

type OtpServer = Awaited<ReturnType<typeof serve>>

/** The same database after a restart, to be disposed before it. */
export function reopen(server: OtpServer): Promise<OtpServer> {
  const base = { ...server, async [Symbol.asyncDispose]() {} }
  return serve(base, server.secretKey, {})
}

/** A code of the right form that is not this one. */
export function wrongCode(otp: string): string {
  return otp.startsWith('7') ? `8${otp.slice(1)}` : `7${otp.slice(1)}`
}
