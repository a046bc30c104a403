import { createHash } from 'node:crypto'

/**
 * The hash by which client and server know that they mean the same realms (protocol.md §5.2):
 * `realms` are those whose content the client has, `inviteRealms` those that it is invited to.
 */
export function realmSetHash(realms: readonly string[], inviteRealms: readonly string[]): string {
  const entries = [
    ...realms.map((realmId) => ({ realmId, accepted: true })),
    ...inviteRealms.map((realmId) => ({ realmId, accepted: false })),
  ].toSorted((one, other) => order(one.realmId, other.realmId))
  return createHash('sha1').update(JSON.stringify(entries)).digest('base64')
}

/** By UTF-16 code units, as clients sort. */
function order(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}
