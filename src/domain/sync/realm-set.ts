import { createHash } from 'node:crypto'

interface Hashed {
  readonly inviteRealms: readonly string[]
  readonly hash: string
}

/** The hashes by their first list: while the rights of a user stay, every answer has the same lists. */
const hashed = new WeakMap<readonly string[], Hashed>()

/**
 * The hash by which client and server know that they mean the same realms (protocol.md §5.2):
 * `realms` are those whose content the client has, `inviteRealms` those that it is invited to. Neither
 * list may change afterwards.
 */
export function realmSetHash(realms: readonly string[], inviteRealms: readonly string[]): string {
  const known = hashed.get(realms)
  if (known?.inviteRealms === inviteRealms) return known.hash
  const entries = [
    ...realms.map((realmId) => ({ realmId, accepted: true })),
    ...inviteRealms.map((realmId) => ({ realmId, accepted: false })),
    // By UTF-16 code units, as clients sort.
  ].toSorted((one, other) => (one.realmId < other.realmId ? -1 : 1))
  const hash = createHash('sha1').update(JSON.stringify(entries)).digest('base64')
  hashed.set(realms, { inviteRealms, hash })
  return hash
}
