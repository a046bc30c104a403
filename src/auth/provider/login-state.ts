import type { Clock } from '../../clock'
import { deriveKey } from '../key/seal'
import { SatchelError } from '../../domain/value/error'
import { randomToken } from '../../domain/value/id'
import { hashSecret, sameSecret } from '../../domain/value/secret'
import { MINUTE } from '../../domain/value/time'

/** The state of a login while its browser is at the provider (design.md §6). */
export interface LoginState {
  readonly id: string
  readonly provider: string
  /** The address of the application, which the browser returns to. */
  readonly redirect: string
  /** Hash of the secret in the cookie of the browser that began. */
  readonly browser: string
  /** ms since the epoch. */
  readonly expires: number
}

/** A value that only the browser of the login, together with the server, can compute again. */
export interface LoginProof {
  /** PKCE (RFC 7636). */
  readonly verifier: string
  readonly nonce: string
}

export interface LoginStates {
  /** The `state` parameter of a new login in the browser with this secret, and its proof. */
  begin(
    login: Pick<LoginState, 'provider' | 'redirect'>,
    browser: string,
  ): Promise<{ readonly id: string; readonly text: string; readonly proof: LoginProof }>
  /** Throws `INVALID_REQUEST` for a state that was not sealed here or has expired. */
  open(text: string | null): Promise<LoginState>
  /** Throws `INVALID_REQUEST` when another browser began. */
  prove(state: LoginState, browser: string | undefined): LoginProof
}

/** Half an hour (protocol.md §3.3). */
export const STATE_LIFE_MS = 30 * MINUTE

/**
 * States that are valid for half an hour and not stored until they are used. The provider can read
 * them, so they do not contain the proof of the login: it is derived from the id of the state, the
 * cookie and a key of the server.
 */
export function createLoginStates(
  secretKey: Uint8Array,
  databaseId: string,
  clock: Clock,
): LoginStates {
  const key = deriveKey(secretKey, databaseId, 'satchel login state')

  function proofOf(id: string, browser: string): LoginProof {
    const make = (purpose: string) =>
      new Bun.CryptoHasher('sha256', key).update(`${purpose} ${id} ${browser}`).digest('base64url')
    return { verifier: make('verifier'), nonce: make('nonce') }
  }

  return {
    async begin({ provider, redirect }, browser) {
      const id = randomToken(16)
      const text = await (
        await loadSealer(key)
      ).sign({
        jti: id,
        aud: databaseId,
        provider,
        redirect,
        browser: hashSecret(browser),
        exp: Math.floor((clock.now() + STATE_LIFE_MS) / 1000),
        // The plugin would read the system's clock.
        iat: false,
      })
      return { id, text, proof: proofOf(id, browser) }
    },

    async open(text) {
      const payload = await (
        await loadSealer(key)
      ).verify(text ?? '', {
        algorithms: ['HS256'],
        typ: TYPE,
        audience: databaseId,
        requiredClaims: ['jti', 'exp', 'provider', 'redirect', 'browser'],
        currentDate: new Date(clock.now()),
      })
      if (payload !== false) return read(payload)
      throw new SatchelError(
        'INVALID_REQUEST',
        'This login has expired or was not begun here: go back to the application and begin again',
      )
    },

    prove({ id, browser }, secret) {
      if (secret !== undefined && sameSecret(hashSecret(secret), browser))
        return proofOf(id, secret)
      throw new SatchelError(
        'INVALID_REQUEST',
        'This login was begun in another browser, or cookies are blocked: begin again',
      )
    },
  }
}

const TYPE = 'state+jwt'

/** Loaded at the first login, so that the server starts faster. */
async function loadSealer(key: Uint8Array) {
  const { jwt } = await import('@elysiajs/jwt')
  return jwt({ secret: key, alg: 'HS256', typ: TYPE }).decorator.jwt
}

/** Reads a payload of our own. */
function read(payload: Readonly<Record<string, unknown>>): LoginState {
  return {
    id: String(payload['jti']),
    provider: String(payload['provider']),
    redirect: String(payload['redirect']),
    browser: String(payload['browser']),
    expires: Number(payload['exp']) * 1000,
  }
}
