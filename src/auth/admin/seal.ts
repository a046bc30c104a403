import type { Clock } from '../../clock'

/** Seals the ids of sessions for cookies. */
export interface Seal {
  /** `ends` in ms since the epoch. */
  close(session: Sealed): Promise<string>
  /** The id; undefined for a text that this process has not sealed, or that has expired. */
  open(cookie: string): Promise<string | undefined>
}

interface Sealed {
  readonly id: string
  readonly role: AdminRole
  readonly ends: number
}

/** The owner of the data folder, who sees the server, or anybody with rights in one database. */
export type AdminRole = 'operator' | 'client'

/** The key is of this process, as the sessions are. */
export function createSeal(clock: Clock): Seal {
  const key = crypto.getRandomValues(new Uint8Array(32))
  return {
    async close({ id, role, ends }) {
      const sealer = await loadSealer(key)
      return await sealer.sign({
        jti: id,
        role,
        exp: Math.ceil(ends / 1000),
        // The plugin would read the clock of the system.
        iat: false,
      })
    },
    async open(cookie) {
      const sealer = await loadSealer(key)
      const payload = await sealer.verify(cookie, {
        algorithms: ['HS256'],
        typ: TYPE,
        requiredClaims: ['jti', 'role', 'exp'],
        currentDate: new Date(clock.now()),
      })
      return payload === false ? undefined : payload.jti
    },
  }
}

const TYPE = 'admin+jwt'

/** Loaded at the first login, so that the server starts faster. */
async function loadSealer(key: Uint8Array) {
  const { jwt } = await import('@elysiajs/jwt')
  return jwt({ secret: key, alg: 'HS256', typ: TYPE }).decorator.jwt
}
