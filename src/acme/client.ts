import { createPublicKey, type KeyObject, type X509Certificate } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { calculateJwkThumbprint, exportJWK, FlattenedSign, type JWK } from 'jose'
import { readAtMost } from '../net/outbound'
import { certificateRequest } from './csr'

/** An account at a certificate authority (RFC 8555). */
export interface AcmeAccount {
  /**
   * Proves over HTTP that this server answers for the names, and resolves to the chain of a certificate
   * for them and `key` (PEM). Throws `AcmeError`.
   */
  certify(names: readonly string[], key: KeyObject): Promise<string>
  /** When the authority wants this certificate to be renewed (RFC 9773); undefined: it does not say. */
  renewalOf(certificate: X509Certificate): Promise<Renewal | undefined>
}

/** Times in ms since the epoch. */
export interface Renewal {
  readonly start: number
  readonly end: number
  /** When to ask again, ms from now; undefined: the authority does not say. */
  readonly askAfter: number | undefined
}

export interface AcmeOptions {
  /** The address of the directory of the authority. */
  readonly directory: string
  readonly email: string | null
  /** Signs all requests: an EC key on P-256 that only this account uses. */
  readonly accountKey: KeyObject
  /** Answers `http://<name>/.well-known/acme-challenge/<token>` with `proof` until it is disposed. */
  readonly publish: (token: string, proof: string) => Disposable
  /** Ends everything that is under way. */
  readonly signal: AbortSignal
}

/** A refusal of the authority. The message names its reason, for the administrator. */
export class AcmeError extends Error {
  override readonly name = 'AcmeError'

  constructor(
    message: string,
    /** The last part of the problem type, such as `rateLimited`; empty without one. */
    readonly type = '',
    /** The wait that the authority asks for, ms. */
    readonly retryAfter?: number,
  ) {
    super(message)
  }
}

/** Finds or makes the account of the key. The terms of the authority are agreed to. Throws `AcmeError`. */
export async function openAccount(options: AcmeOptions): Promise<AcmeAccount> {
  const { email, publish, signal } = options
  const { directory, thumbprint, post, request } = await connect(options)
  const contact = email === null ? [] : [`mailto:${email}`]
  const account = await post(directory.newAccount, { termsOfServiceAgreed: true, contact })
  const kid = account.location
  const ask = async <T>(url: string, payload?: object) =>
    (await post(url, payload ?? null, kid)).body as T

  async function settled<T extends { readonly status: string }>(
    url: string,
    pending: readonly string[],
  ): Promise<T> {
    for (let attempt = 0; attempt < MAX_POLLS; attempt += 1) {
      const { body, retryAfter } = await post(url, null, kid)
      if (!pending.includes((body as T).status)) return body as T
      await pause(Math.min(retryAfter ?? POLL_EVERY_MS, LONGEST_POLL_MS), undefined, { signal })
    }
    throw new AcmeError('The authority did not decide in time')
  }

  async function prove(url: string): Promise<void> {
    const authorization = await ask<Authorization>(url)
    if (authorization.status === 'valid') return
    const challenge = authorization.challenges.find(({ type }) => type === 'http-01')
    if (challenge === undefined) throw new AcmeError('The authority offers no proof over HTTP')
    using _ = publish(challenge.token, `${challenge.token}.${thumbprint}`)
    await ask(challenge.url, {})
    const { status, challenges } = await settled<Authorization>(url, ['pending'])
    if (status === 'valid') return
    const { error } = challenges.find(({ type }) => type === 'http-01') ?? {}
    throw refusal(`The authority could not check ${authorization.identifier.value}`, error, status)
  }

  return {
    async certify(names, key) {
      const identifiers = names.map((value) => ({ type: 'dns', value }))
      const { location, body } = await post(directory.newOrder, { identifiers }, kid)
      const order = body as Order
      for (const authorization of order.authorizations) await prove(authorization)
      const csr = certificateRequest(names, key).toString('base64url')
      await ask(order.finalize, { csr })
      const ended = await settled<Order>(location, ['pending', 'ready', 'processing'])
      if (ended.status !== 'valid' || ended.certificate === undefined)
        throw refusal('The authority refused the certificate', ended.error, ended.status)
      return await ask<string>(ended.certificate)
    },

    async renewalOf(certificate) {
      if (directory.renewalInfo === undefined) return undefined
      const url = `${directory.renewalInfo}/${renewalId(certificate)}`
      const { body, retryAfter } = await read(await request(url))
      const { suggestedWindow: told } = body as { suggestedWindow: Record<'start' | 'end', string> }
      const [start, end] = [Date.parse(told.start), Date.parse(told.end)]
      if (!(start <= end)) throw new AcmeError('The authority names no time for the renewal')
      return { start, end, askAfter: retryAfter }
    },
  }
}

const POLL_EVERY_MS = 1_000
const LONGEST_POLL_MS = 30_000
const MAX_POLLS = 60
const REQUEST_ENDS_AFTER_MS = 30_000
/** Nonces are spent by others' requests, and expire: a request is repeated with the nonce of its refusal. */
const MAX_REPETITIONS = 5
const LONGEST_ANSWER_BYTES = 1024 * 1024
const answeredTooMuch = () => new AcmeError('The authority answered too much')

interface Directory {
  readonly newNonce: string
  readonly newAccount: string
  readonly newOrder: string
  readonly renewalInfo?: string
}

interface Problem {
  readonly type?: string
  readonly detail?: string
}

interface Authorization {
  readonly status: string
  readonly identifier: { readonly value: string }
  readonly challenges: readonly {
    readonly type: string
    readonly url: string
    readonly token: string
    readonly error?: Problem
  }[]
}

interface Order {
  readonly status: string
  readonly authorizations: readonly string[]
  readonly finalize: string
  readonly certificate?: string
  readonly error?: Problem
}

interface Answer {
  /** JSON, or the text of a certificate. */
  readonly body: unknown
  readonly location: string
  readonly retryAfter: number | undefined
}

/** Signed requests to one authority. */
async function connect({ directory: address, accountKey, signal }: AcmeOptions) {
  const jwk = await exportJWK(createPublicKey(accountKey))
  const thumbprint = await calculateJwkThumbprint(jwk)
  let nonce: string | null = null
  const directory = (await read(await request(address))).body as Directory

  /** `payload` null: asks for the resource (POST-as-GET). `kid` is absent for a new account. */
  async function post(url: string, payload: object | null, kid?: string): Promise<Answer> {
    for (let attempt = 0; ; attempt += 1) {
      const signer: { kid: string } | { jwk: JWK } = kid === undefined ? { jwk } : { kid }
      const text = payload === null ? '' : JSON.stringify(payload)
      const signed = await new FlattenedSign(Buffer.from(text))
        .setProtectedHeader({ alg: 'ES256', nonce: nonce ?? (await newNonce()), url, ...signer })
        .sign(accountKey)
      const response = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/jose+json' },
        body: JSON.stringify(signed),
      })
      try {
        return await read(response)
      } catch (error) {
        const isStale = error instanceof AcmeError && error.type === 'badNonce'
        if (!isStale || attempt >= MAX_REPETITIONS) throw error
      }
    }
  }

  async function newNonce(): Promise<string> {
    await request(directory.newNonce, { method: 'HEAD' })
    if (nonce === null) throw new AcmeError('The authority gave no nonce')
    return nonce
  }

  async function request(url: string, init: RequestInit = {}): Promise<Response> {
    const ends = AbortSignal.any([signal, AbortSignal.timeout(REQUEST_ENDS_AFTER_MS)])
    const options = { ...init, signal: ends, redirect: 'error' } as const
    const response = await fetch(url, options).catch((cause: Error) => {
      throw new AcmeError(`The authority at ${url} cannot be reached: ${cause.message}`)
    })
    nonce = response.headers.get('replay-nonce')
    return response
  }

  return { directory, thumbprint, post, request }
}

/** Throws `AcmeError` for a problem document and for any other refusal. */
async function read(response: Response): Promise<Answer> {
  const { headers, body: pieces } = response
  const text = String(await readAtMost(LONGEST_ANSWER_BYTES, pieces, answeredTooMuch))
  const isJson = headers.get('content-type')?.includes('json') === true
  const body: unknown = isJson && text !== '' ? JSON.parse(text) : text
  const retryAfter = parseRetryAfter(headers)
  if (response.ok) return { body, location: headers.get('location') ?? '', retryAfter }
  const problem = isJson ? (body as Problem) : undefined
  throw refusal('The authority refused', problem, `status ${response.status}`, retryAfter)
}

function refusal(sentence: string, problem: Problem | undefined, status: string, wait?: number) {
  const type = problem?.type?.split(':').at(-1)
  return new AcmeError(`${sentence}: ${problem?.detail ?? status}`, type, wait)
}

/** Seconds, or a date, which counts from the time of the authority. */
function parseRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after')
  if (value === null) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const wait = Date.parse(value) - Date.parse(headers.get('date') ?? '')
  return Number.isFinite(wait) && wait >= 0 ? wait : undefined
}

/** The issuer's key identifier and the serial number, each as DER has them (RFC 9773 §4.1). */
function renewalId({ raw, serialNumber }: X509Certificate): string {
  const at = raw.indexOf(AUTHORITY_KEY_IDENTIFIER)
  // An OCTET STRING with a SEQUENCE whose first field is [0], all of them short.
  const value = at + AUTHORITY_KEY_IDENTIFIER.length
  const isShort = raw[value] === 0x04 && raw[value + 2] === 0x30 && raw[value + 4] === 0x80
  if (at < 0 || !isShort) throw new AcmeError('The certificate does not name the key of its issuer')
  const keyIdentifier = raw.subarray(value + 6, value + 6 + raw[value + 5]!)
  const serial = Buffer.from(serialNumber, 'hex')
  const signed = serial[0]! >= 0x80 ? Buffer.concat([Buffer.from([0]), serial]) : serial
  return `${keyIdentifier.toString('base64url')}.${signed.toString('base64url')}`
}

/** 2.5.29.35 */
const AUTHORITY_KEY_IDENTIFIER = Buffer.from('0603551d23', 'hex')
