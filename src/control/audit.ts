import { DAY } from '../domain/value/time'
import { optional, text, whole } from './fields'
import { onFolder } from './operation'

/** The most lines of one answer. */
const PAGE = 1_000
/** How far back the lines go without a time. */
const SINCE_MS = 30 * DAY

export const auditOperations = {
  /**
   * Lines about operations, the oldest first: those of a database, or of the server itself. `since` in ms; `after` is
   * the cursor of the last line that the caller knows. `next` is the cursor to go on from, null at the end. An answer has
   * at most `limit` lines, and never more than 1,000.
   */
  'audit.list': onFolder(
    {
      scopes: 'operator',
      effect: 'read',
      summary: 'List the operations that changed something or showed a secret',
      input: {
        database: optional(text),
        since: optional(whole),
        after: optional(whole),
        limit: optional(whole),
      },
    },
    async ({ hosts, audit, clock }, { database, since, after, limit }) => {
      const most = Math.min(PAGE, Math.max(1, limit ?? PAGE))
      const cursor = { at: since ?? clock.now() - SINCE_MS, seq: after ?? 0 }
      const lines = await listFrom(database)
      const last = lines.length === most ? lines.at(-1) : undefined
      return {
        lines: lines.map(
          ({ at, operation, result, door, uid, client, user, address, session }) => ({
            at,
            operation,
            result,
            door,
            uid,
            client,
            user,
            address,
            session,
          }),
        ),
        next: last === undefined ? null : { since: last.at, after: last.seq },
      }

      async function listFrom(name: string | null) {
        if (name === null) return audit.list(cursor, most)
        using held = await hosts.hold(name)
        return await held.host.database.read((tx) => tx.audit.list(cursor, most))
      }
    },
  ),
}
