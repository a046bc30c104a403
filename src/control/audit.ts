import type { AuditCursor, AuditReader, NumberedLine } from '../domain/store/audit'
import { SatchelError } from '../domain/value/error'
import { DAY } from '../domain/value/time'
import { described, flag, optional, text, whole } from './fields'
import { onFolder } from './operation'

/** The most lines of one answer. */
const PAGE = 1_000
/** How far back the lines go without a time. */
const SINCE_MS = 30 * DAY

export const auditOperations = {
  /**
   * Lines about operations in the order of their times, or the newest first: those of a database, or of the server itself.
   * `since` in ms. An answer has at most `limit` lines, and never more than 1,000; `cursor` is null at the end.
   */
  'audit.list': onFolder(
    {
      scopes: 'operator',
      effect: 'read',
      summary: 'List the operations that changed something or showed a secret',
      input: {
        database: optional(text),
        since: optional(whole),
        newestFirst: flag,
        cursor: described(
          optional(text),
          'The `cursor` of the page before; the rest must be the same.',
        ),
        limit: optional(whole),
      },
    },
    async ({ hosts, audit, clock }, { database, newestFirst, cursor, ...asked }) => {
      const most = Math.min(PAGE, Math.max(1, asked.limit ?? PAGE))
      const since = asked.since ?? clock.now() - SINCE_MS
      const place = cursor === null ? null : readCursor(cursor)
      const listFrom = (lines: AuditReader) =>
        newestFirst
          ? lines.listNewest(place ?? END, since, most + 1)
          : lines.list(place ?? { at: since, seq: 0 }, most + 1)
      const found = database === null ? listFrom(audit) : await listOf(database)
      const last = found.length > most ? found[most - 1] : undefined
      return {
        lines: found.slice(0, most).map(withoutNumbers),
        cursor: last === undefined ? null : `${last.at} ${last.seq}`,
      }

      async function listOf(name: string) {
        using held = await hosts.hold(name)
        return await held.opened.database.read((tx) => listFrom(tx.audit))
      }
    },
  ),
}

/** After all lines. */
const END: AuditCursor = { at: Number.MAX_SAFE_INTEGER, seq: 0 }

function withoutNumbers(numbered: NumberedLine): Omit<NumberedLine, 'id' | 'seq'> {
  const { id: _, seq: __, ...line } = numbered
  return line
}

function readCursor(cursor: string): AuditCursor {
  const [, at, seq] = /^(-?\d{1,15}) (\d{1,15})$/.exec(cursor) ?? []
  if (at !== undefined && seq !== undefined) return { at: Number(at), seq: Number(seq) }
  throw new SatchelError('INVALID_REQUEST', 'Invalid cursor: use the one of the previous page')
}
