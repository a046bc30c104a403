import type { Clock } from '../../clock'
import { SatchelError } from '../../domain/value/error'
import { MINUTE, SECOND } from '../../domain/value/time'
import type { TokenAnswer } from '../grant/issuer'
import { createOnce } from '../once'

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
  const proofs = createOnce<string>(clock, LIFE_MS, MAX_PROOFS)

  return {
    issue(email) {
      const { code: accessToken, expires } = proofs.issue(email)
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

    spend: (token, work) =>
      proofs.spend(token, (email) => {
        if (email !== undefined) return work(email)
        throw new SatchelError(
          'INVALID_TOKEN',
          `A token with the scope ${scope} is needed, which can be used once: log in with a one-time code`,
        )
      }),
  }
}

const LIFE_MS = 10 * MINUTE
const MAX_PROOFS = 10_000
