import { unprocessable } from '../value/error'
import { getOwn, isRecord } from '../value/value'
import type { ReadTx, WriteTx } from '../store/store'
import type { SealedText, Vault } from '../store/vault'
import { USER_DATA, userDataOf } from './change'
import { changePolicy, findPolicy, type Policy, type Verdict } from './policy'
import { requireOverlap } from '../value/secret'
import { DAY } from '../value/time'
import { newWebhookSecret } from '../value/webhook-signature'

/** The address of the web hook for new users, and the secret that signs its requests. */
export interface WebhookAddress {
  readonly url: string
  /** The secrets that are valid now, the newest first. */
  readonly secrets: readonly string[]
}

/** A policy, and its new secret, which is not shown again. */
export interface PolicyChange {
  readonly policy: Policy
  readonly hookSecret: string | null
}

export interface WebhookRotation {
  readonly hookSecret: string
  /** The old secret signs too until this time, ms since the epoch. */
  readonly oldSecretUntil: number
}

/**
 * Changes the policy. The first web hook address creates a secret, which stays until the web hook
 * is removed. Throws `UNPROCESSABLE`.
 */
export function setPolicy(tx: WriteTx, vault: Vault, changes: Partial<Policy>): PolicyChange {
  const policy = changePolicy(tx, changes)
  const isKnown = findSecrets(tx) !== undefined
  if (policy.hookUrl === null) {
    tx.settings.remove(SETTING)
  } else if (!isKnown) {
    const hookSecret = newWebhookSecret()
    putSecrets(tx, { sealed: vault.seal(hookSecret, LABEL), previous: null })
    return { policy, hookSecret }
  }
  return { policy, hookSecret: null }
}

/** A new secret; the old one signs too for `days` more. `now` in ms. Throws `UNPROCESSABLE`. */
export function rotateWebhookSecret(
  tx: WriteTx,
  vault: Vault,
  now: number,
  days = 7,
): WebhookRotation {
  requireOverlap(days, 'secret')
  const secrets = findSecrets(tx)
  if (secrets === undefined) {
    throw unprocessable('There is no web hook: set one with satchel policy set --hook-url')
  }
  const hookSecret = newWebhookSecret()
  const until = Math.round(now + days * DAY)
  const previous = { sealed: secrets.sealed, until }
  putSecrets(tx, { sealed: vault.seal(hookSecret, LABEL), previous })
  return { hookSecret, oldSecretUntil: until }
}

/** Undefined when there is no web hook. `now` in ms. Throws `STORAGE_FAILED` as `Vault.open`. */
export function findWebhook(tx: ReadTx, vault: Vault, now: number): WebhookAddress | undefined {
  const { hookUrl: url } = findPolicy(tx)
  const found = findSecrets(tx)
  if (url === null || found === undefined) return undefined
  const { sealed, previous } = found
  const isPreviousGood = previous !== null && previous.until > now
  const good = isPreviousGood ? [sealed, previous.sealed] : [sealed]
  return { url, secrets: good.map((text) => vault.open(text, LABEL)) }
}

/** The secrets of the web hook as they are sealed. */
export function sealedWebhook(tx: ReadTx): SealedText[] {
  const secrets = findSecrets(tx)
  if (secrets === undefined) return []
  const { previous } = secrets
  const current: SealedText = {
    sealed: secrets.sealed,
    label: LABEL,
    replace: (tx, sealed) => putSecrets(tx, { ...requireSecrets(tx), sealed }),
  }
  if (previous === null) return [current]
  const replace: SealedText['replace'] = (tx, sealed) =>
    putSecrets(tx, { ...requireSecrets(tx), previous: { ...previous, sealed } })
  return [current, { sealed: previous.sealed, label: LABEL, replace }]
}

/** The verdict of a web hook on a person. Throws `UNPROCESSABLE` for an invalid one. */
export function readVerdict(answer: unknown): Verdict {
  if (!isRecord(answer)) throw unprocessable('no object')
  const ok = getOwn(answer, 'ok')
  if (typeof ok !== 'boolean') throw unprocessable('"ok" must be true or false')
  if (!ok) throw unprocessable('"ok" is false')
  const action = ACTIONS.find((name) => name === getOwn(answer, 'action'))
  if (action === undefined) throw unprocessable(`"action" must be ${ACTIONS.join(', ')}`)
  // Some languages cannot omit a property and send null.
  const given = getOwn(answer, 'userData') ?? undefined
  if (given === undefined) return { action }
  const data = userDataOf(given)
  if (data === undefined) throw unprocessable(`"userData" ${USER_DATA}`)
  return { action, data }
}

interface WebhookSecrets {
  readonly sealed: string
  /** `until` in ms. */
  readonly previous: { readonly sealed: string; readonly until: number } | null
}

const SETTING = 'webhook'
const LABEL = 'web hook'
const ACTIONS = ['prod', 'eval', 'reject'] as const

function findSecrets(tx: ReadTx): WebhookSecrets | undefined {
  const setting = tx.settings.find(SETTING)
  return setting?.value as WebhookSecrets | undefined
}

/** The secrets of a web hook that is there. */
function requireSecrets(tx: ReadTx): WebhookSecrets {
  const secrets = findSecrets(tx)
  if (secrets === undefined) throw new Error('there is no web hook')
  return secrets
}

function putSecrets(tx: WriteTx, secrets: WebhookSecrets): void {
  tx.settings.put({ id: SETTING, value: { ...secrets } })
}
