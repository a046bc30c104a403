import type { Clock } from '../../clock'
import { findStanding, type TokenFacts, tokenFacts } from '../../domain/access/actor'
import { SatchelError } from '../../domain/value/error'
import { grantScopes, type Scope } from '../../domain/value/scope'
import { hashSecret } from '../../domain/value/secret'
import type { ReadTx } from '../../domain/store/store'
import type { User } from '../../domain/store/users'
import type { Grant, GrantParts } from './grant'
import type { TokenAnswer } from './issuer'
import {
  findScopes,
  type Parameters,
  requireInteger,
  requireText,
  isSignedBy,
  requirePublicKey,
} from './parameters'
import type { RefreshToken } from '../../domain/store/credentials'
import { SECOND, DAY } from '../../domain/value/time'
import { MAX_PRUNED_ROWS } from '../limits'

/**
 * Gives a new access token for a refresh token and a fresh signature with its private key
 * (protocol.md §2.4). The refresh token stays: the clients keep the one they logged in with.
 */
export function refresh({ database, clock, signatureClock, issuer, limits }: GrantParts): Grant {
  const answers = createRecentAnswers(clock)
  const skew = limits.maxClockSkew * 1000
  let pruned = -Infinity

  return async ({ parameters, count }) => {
    const proof = requireProof(parameters)
    const { record, standing, isReplay } = await database.read((tx) => {
      const record = tx.refreshTokens.find(proof.hash)
      const facts = record && factsOf(record)
      const standing = facts && findStanding(tx, facts)
      return { record, standing, isReplay: isUsed(tx, proof) }
    })
    requireFresh(proof, signatureClock.now(), skew)
    if (record === undefined || standing === undefined) throw refusal()
    if (standing.ends <= clock.now()) throw refusal()
    requireUsed(record, clock.wall.now())
    requireSignature(proof, record)
    requireSameKey(parameters['public_key'], record)
    const scopes = grantScopes(findScopes(parameters) ?? record.scopes, record.scopes)
    const name = `${proof.hash} ${proof.timeStamp} ${scopes.join(' ')}`
    return answers.once(name, () => {
      // A replay by somebody else must not use up the limit of the owner.
      if (isReplay) throw refusal()
      count?.(record.subject)
      return spend(proof, record, standing.user, scopes)
    })
  }

  /** Answers a signature that was never used; the use is durable before the answer is sent. */
  async function spend(
    proof: Proof,
    record: RefreshToken,
    user: User | undefined,
    scopes: readonly Scope[],
  ): Promise<TokenAnswer> {
    const { hash, timeStamp, token } = proof
    const now = clock.wall.now()
    const signedBy = signatureClock.now()
    const isDue = now - pruned >= PRUNE_EVERY || now < pruned
    const isPruned = await database.write((tx) => {
      const isGone = tx.refreshTokens.find(hash) === undefined
      if (isGone || isUsed(tx, proof)) throw refusal()
      tx.refreshTokens.put({ ...record, lastUsed: Math.max(now, record.lastUsed) })
      tx.refreshTokens.recordUse(hash, timeStamp, signedBy)
      if (!isDue) return false
      // A signature of the fastest accepted clock can be replayed until twice the skew.
      const uses = tx.prune('refreshUses', signedBy - 2 * skew, MAX_PRUNED_ROWS)
      return (
        uses < MAX_PRUNED_ROWS &&
        tx.prune('refreshTokens', now - IDLE_MS, MAX_PRUNED_ROWS) < MAX_PRUNED_ROWS
      )
    })
    if (isPruned) pruned = now
    return issuer.renew(token, record, user, scopes)
  }
}

/** Answers of the last seconds, for callers who repeat a request because the answer was lost. */
interface RecentAnswers {
  once(name: string, make: () => Promise<TokenAnswer>): Promise<TokenAnswer>
}

function createRecentAnswers(clock: Clock): RecentAnswers {
  const answers = new Map<string, { readonly at: number; readonly answer: Promise<TokenAnswer> }>()
  return {
    once(name, make) {
      const now = clock.now()
      for (const [old, { at }] of answers) {
        if (now - at <= REPEATABLE_MS) break
        answers.delete(old)
      }
      const known = answers.get(name)
      if (known !== undefined) return known.answer
      const answer = make()
      answers.set(name, { at: now, answer })
      answer.catch(() => answers.delete(name))
      return answer
    },
  }
}

interface Proof {
  readonly token: string
  readonly hash: string
  /** By the clock of the client, ms since the epoch. */
  readonly timeStamp: number
  readonly algorithm: string
  /** Base64. */
  readonly signature: string
}

/** How long the same request gets the same answer (design.md §4). */
const REPEATABLE_MS = 10 * SECOND
/** A refresh token ends after this time without use. */
const IDLE_MS = 180 * DAY
const PRUNE_EVERY = DAY / 24

function requireProof(parameters: Parameters): Proof {
  const token = requireText(parameters, 'refresh_token')
  return {
    token,
    hash: hashSecret(token),
    timeStamp: requireInteger(parameters, 'time_stamp'),
    algorithm: requireText(parameters, 'signing_algorithm'),
    signature: requireText(parameters, 'signature'),
  }
}

function factsOf({ subject, clientId, login, user }: RefreshToken): TokenFacts {
  return tokenFacts({ subject, clientId, login, incarnation: user })
}

function isUsed(tx: ReadTx, { hash, timeStamp }: Proof): boolean {
  return tx.refreshTokens.findUse(hash, timeStamp) !== undefined
}

function requireFresh({ timeStamp }: Proof, now: number, skew: number): void {
  if (Math.abs(timeStamp - now) > skew)
    throw refusal('"time_stamp" is too far from the time of the server')
}

function requireUsed(record: RefreshToken, now: number): void {
  if (record.lastUsed + IDLE_MS < now) throw refusal()
}

function requireSignature({ token, timeStamp, algorithm, signature }: Proof, record: RefreshToken) {
  const isRight = isSignedBy(record.publicKey, algorithm, token + timeStamp, signature)
  if (!isRight) throw refusal()
}

/** A new key needs a new login: the binding makes a stolen refresh token worthless. */
function requireSameKey(publicKey: unknown, record: RefreshToken): void {
  if (publicKey === undefined || publicKey === null) return
  if (requirePublicKey(publicKey) === record.publicKey) return
  throw new SatchelError(
    'INVALID_REQUEST',
    'The refresh token is bound to another public key: send that key, or none',
  )
}

/** One answer for every reason. It must not say "expired": see design.md §4. */
function refusal(message = 'The refresh token or its signature is not valid'): SatchelError {
  return new SatchelError('INVALID_GRANT', message)
}
