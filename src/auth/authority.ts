import type { JSONWebKeySet } from 'jose'
import type { Actor } from '../domain/actor'

/** Issues and verifies the tokens of one database (design.md §4). */
export interface Authority {
  /**
   * The actor of an access token. At once when this token was verified before and nothing changed
   * since. Throws `INVALID_TOKEN`.
   */
  verify(token: string): Actor | Promise<Actor>
  /** The claims of a valid access token, for `GET /token/validate`. Throws `INVALID_TOKEN`. */
  claims(token: string): Promise<Readonly<Record<string, unknown>>>
  /** The public keys that verify this database's tokens (RFC 7517). */
  keys(): Promise<JSONWebKeySet>
}
