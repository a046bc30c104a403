import { roleOf } from '../auth/admin/sessions'
import { quoted, SatchelError } from '../domain/value/error'
import { MINUTE } from '../domain/value/time'
import type { DataFolder } from '../host/data-folder'
import type { AdminAccess } from '../host/serving'
import { flag, optional, text, whole } from './fields'
import { onFolder } from './operation'

/** Logins to the page for administrators (admin.md §4), which the server has in memory. */
export const adminOperations = {
  /**
   * Makes a link to log in once, within ten minutes. Its sessions last `minutes`, at most twelve hours; with
   * `only` they see no other one, and not the server. With `confirmation` the link lets a session show secrets.
   */
  'session.link': onFolder(
    {
      scopes: 'operator',
      effect: 'secret',
      summary: 'Make a one-time link to the page for administrators',
      input: {
        only: optional(text),
        isReadOnly: flag,
        minutes: optional(whole),
        confirmation: flag,
      },
    },
    async (folder, { only: database, isReadOnly, minutes, confirmation }) => {
      const access = requireAccess(folder)
      if (database !== null) await requireDatabase(folder, database)
      const life = minutes === null ? null : minutes * MINUTE
      const order = confirmation ? 'confirmation' : ({ database, isReadOnly, life } as const)
      const page = access.url()
      const { code, expires } = access.sessions.invite(order)
      return { url: `${page}#${code}`, expires }
    },
  ),

  /** The newest first. Times are ms since the epoch. */
  'session.list': onFolder(
    {
      scopes: 'operator',
      effect: 'read',
      summary: 'List the logins to the page for administrators',
      input: {},
    },
    async (folder) =>
      requireAccess(folder)
        .sessions.list()
        .map(({ id, database, isReadOnly, client, address, began, idleAt, ends, ...session }) => ({
          id,
          role: roleOf({ database, isReadOnly, client }),
          database,
          email: client?.email ?? null,
          isReadOnly,
          address,
          began,
          ends: Math.min(idleAt, ends),
          confirmedUntil: session.confirmedUntil,
        })),
  ),

  /** Ends the one with this id, or all of them. */
  'session.revoke': onFolder(
    {
      scopes: 'operator',
      effect: 'write',
      summary: 'End logins to the page for administrators',
      input: { id: optional(text) },
    },
    async (folder, { id }) => {
      const ended = requireAccess(folder).sessions.end(id)
      if (id !== null && ended === 0) {
        throw new SatchelError('UNKNOWN_OBJECT', `There is no login ${quoted(id)}`)
      }
      return { ended }
    },
  ),
}

/** Throws `CONFLICT` where the page does not answer. */
function requireAccess(folder: DataFolder): AdminAccess {
  const access = folder.serving()?.admin
  if (access !== undefined && access !== null) return access
  throw new SatchelError(
    'CONFLICT',
    'No server with the page for administrators runs: start it with satchel serve, without --no-admin; a --public-url with a path needs --admin-url',
  )
}

/** Throws `UNKNOWN_DATABASE`. */
async function requireDatabase({ hosts }: DataFolder, name: string): Promise<void> {
  if ((await hosts.list()).includes(name)) return
  throw new SatchelError('UNKNOWN_DATABASE', `There is no database ${quoted(name)}`)
}
