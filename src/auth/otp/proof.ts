import type { Clock } from '../../clock'
import { SatchelError } from '../../domain/value/error'
import { newSecret } from '../../domain/value/secret'
import { MINUTE, SECOND } from '../../domain/value/time'
import type { TokenAnswer } from '../grant/issuer'

/**
 * Access tokens of people who have proven an address for one purpose and need no user for it
 * (protocol.md §9.2 `CONNECT_CLIENT`, `CREATE_DB`). They are in memory only: a restart ends them.
 */
export interface Proofs {
  /** A token for the owner of this address, good once and for ten minutes. */
  issue(email: string): TokenAnswer
  /**
   * Calls `work` with the proven address; the token is spent unless `work` throws. Throws
   * `INVALID_TOKEN`, and as `work`.
   */
  spend<T>(token: string, work: (email: string) => Promise<T>): Promise<T>
}

/** `scope` is the purpose, as the clients name it. `clock` must not go back. */
export function createProofs(clock: Clock, scope: string): Proofs {
  const proofs = new Map<string, Proof>()

  return {
    issue(email) {
      const accessToken = newSecret()
      const expires = clock.now() + LIFE_MS
      // The oldest ones come first, and expire first.
      for (const [token, proof] of proofs) {
        if (proof.expires > clock.now() && proofs.size < MAX_PROOFS) break
        proofs.delete(token)
      }
      proofs.set(accessToken, { email, expires })
      return {
        type: 'tokens',
        claims: { sub: email, email },
        accessToken,
        accessTokenExpiration: expires,
        userType: 'client',
        userId: email,
        access_token: accessToken,
        token_type: 'Bearer',
        expires_in: LIFE_MS / SECOND,
        scope,
      }
    },

    async spend(token, work) {
      const proof = proofs.get(token)
      if (proof === undefined || proof.expires <= clock.now()) {
        throw new SatchelError(
          'INVALID_TOKEN',
          `A token with the scope ${scope} is needed, which can be used once: log in with a one-time code`,
        )
      }
      proofs.delete(token)
      try {
        return await work(proof.email)
      } catch (error) {
        proofs.set(token, proof)
        throw error
      }
    },
  }
}

interface Proof {
  readonly email: string
  /** ms since the epoch. */
  readonly expires: number
}

const LIFE_MS = 10 * MINUTE
const MAX_PROOFS = 10_000
