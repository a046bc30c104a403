import type { Clock } from '../../clock'
import { SatchelError } from '../../domain/value/error'
import { randomToken } from '../../domain/value/id'
import { signWebhook, type WebhookMessage } from '../../domain/value/webhook-signature'
import { parseJson } from '../../domain/json/scan'
import type { Policy, Verdict, Person } from '../../domain/user/policy'
import type { Database, Write } from '../../domain/store/store'
import type { Vault } from '../../domain/store/vault'
import {
  findWebhook,
  type PolicyChange,
  readVerdict,
  rotateWebhookSecret,
  setPolicy,
  type WebhookAddress,
  type WebhookRotation,
} from '../../domain/user/webhook'
import { type Outbound, OutboundError } from '../../net/outbound'

/** The web hook that decides about new users of one database (protocol.md §13.1). */
export interface Webhook {
  /** Throws `WEBHOOK_ERROR`, whose cause is for the log. */
  ask(person: Person): Promise<Verdict>
  /** Asks once and returns the verdict. Throws `WEBHOOK_ERROR` with the reason. */
  test(person: Person): Promise<WebhookTest>
  /** `write` runs the unit of the change. Throws `UNPROCESSABLE`. */
  setPolicy(changes: Partial<Policy>, write?: Write): Promise<PolicyChange>
  /** As `setPolicy`. */
  rotate(days?: number, write?: Write): Promise<WebhookRotation>
}

export interface WebhookTest extends Verdict {
  readonly url: string
  /** ms. */
  readonly duration: number
}

export interface WebhookParts {
  readonly database: Database
  readonly clock: Clock
  readonly vault: Vault
  readonly call: Outbound
  readonly limits?: Partial<WebhookLimits>
}

/** Short, because a person waits for the answer, and a stopping server for their request. All in ms. */
export interface WebhookLimits {
  /** For all attempts together. */
  readonly total: number
  readonly attempt: number
  /** How long to wait before each further attempt. */
  readonly pauses: readonly number[]
}

export function createWebhook({ database, clock, vault, call, ...parts }: WebhookParts): Webhook {
  const limits = { ...LIMITS, ...parts.limits }
  const usual: Write = (work) => database.write(work)

  async function find(): Promise<WebhookAddress> {
    const found = await database.read((tx) => findWebhook(tx, vault, clock.now()))
    if (found !== undefined) return found
    throw new WebhookFailure('no address is set: satchel policy set --hook-url sets one', false)
  }

  /** Retries transient failures while there is time. */
  async function persist(address: WebhookAddress, message: WebhookMessage): Promise<Verdict> {
    const ends = performance.now() + limits.total
    for (let attempt = 0; ; attempt += 1) {
      const left = ends - performance.now()
      try {
        return await send(address, message, Math.floor(Math.min(left, limits.attempt)))
      } catch (error) {
        const pause = limits.pauses[attempt]
        const isLast = pause === undefined || performance.now() + pause >= ends
        if (!(error instanceof WebhookFailure) || !error.isTransient || isLast) throw error
        await Bun.sleep(pause)
      }
    }
  }

  async function send(
    { url, secrets }: WebhookAddress,
    message: WebhookMessage,
    timeout: number,
  ): Promise<Verdict> {
    const { body } = message
    const headers = {
      ...signWebhook(message, secrets, clock.now()),
      'content-type': 'application/json',
      accept: 'application/json',
    }
    const request = { method: 'POST', headers, body, timeout, longest: MAX_ANSWER_BYTES }
    const response = await call(url, request).catch(unreachable)
    const { host } = new URL(url)
    if (!response.ok) {
      throw new WebhookFailure(`${host} answers ${response.status}`, isTransient(response.status))
    }
    return understand(host, await response.bytes())
  }

  return {
    async ask(person) {
      try {
        return await persist(await find(), messageAbout(person))
      } catch (error) {
        if (!(error instanceof WebhookFailure)) throw error
        throw new SatchelError('WEBHOOK_ERROR', UNDECIDED, { cause: error })
      }
    },

    async test(person) {
      const begun = performance.now()
      try {
        const address = await find()
        const verdict = await send(address, messageAbout(person), limits.attempt)
        return { url: address.url, duration: performance.now() - begun, ...verdict }
      } catch (error) {
        if (!(error instanceof WebhookFailure)) throw error
        throw new SatchelError('WEBHOOK_ERROR', `The web hook failed: ${error.message}`)
      }
    },

    setPolicy: (changes, write = usual) => write((tx) => setPolicy(tx, vault, changes)),
    rotate: (days, write = usual) =>
      write((tx) => rotateWebhookSecret(tx, vault, clock.now(), days)),
  }
}

/** Why a web hook gave no verdict, for the administrator. */
class WebhookFailure extends Error {
  override readonly name = 'WebhookFailure'

  constructor(
    reason: string,
    /** True when asking again in a moment may succeed. */
    readonly isTransient: boolean,
    cause?: unknown,
  ) {
    super(reason, cause === undefined ? undefined : { cause })
  }
}

const UNDECIDED =
  'Your registration could not be checked: try again in a moment, or tell the administrator of this application'
const LIMITS: WebhookLimits = { total: 9_000, attempt: 5_000, pauses: [250, 1_000] }
/** Twice the largest data of a user. */
const MAX_ANSWER_BYTES = 128 * 1024
const ANSWER_LIMITS = { depth: 64, values: 20_000 }

function messageAbout({ id, email }: Person): WebhookMessage {
  return { id: `msg_${randomToken(16)}`, body: JSON.stringify({ userId: id, email }) }
}

/** The hook is busy or briefly unavailable; other statuses are final. */
function isTransient(status: number): boolean {
  return status >= 500 || status === 408 || status === 425 || status === 429
}

function unreachable(error: unknown): never {
  if (!(error instanceof OutboundError)) throw error
  throw new WebhookFailure(error.message, error.isTransient, error.cause)
}

/** The error does not quote the answer, which may hold anything. */
function understand(host: string, answer: Uint8Array): Verdict {
  try {
    return readVerdict(parseJson(answer, ANSWER_LIMITS, { name: 'it' }))
  } catch (error) {
    if (!(error instanceof SatchelError)) throw error
    throw new WebhookFailure(`${host} did not answer with a verdict: ${error.message}`, false)
  }
}
