import { READ } from '../domain/access/door'
import type { ReadTx } from '../domain/store/store'
import type { SyncClient } from '../domain/store/sync'
import { numberOfRevision } from '../domain/sync/revision'
import { SatchelError } from '../domain/value/error'
import { foldUserId } from '../domain/value/user-id'
import type { OpenDatabase } from '../host/host'
import type { LiveSession } from '../host/live-view'
import type { Serving } from '../host/serving'
import { described, optional, text } from './fields'
import { onDatabase } from './operation'

/** The most devices of a page. */
const PAGE = 200

/** A local database that syncs, and its live connection if it has one. */
interface Device {
  /** Chosen by the client. */
  readonly device: string
  readonly userId: string
  /** When it was last noted to have synced, ms. */
  readonly seen: number
  readonly tables: readonly string[]
  readonly isConnected: boolean
  /** The page; null for a program and without a connection. */
  readonly origin: string | null
  /** `muted`: it may not listen any more, for instance because its token has ended. */
  readonly phase: 'working' | 'waiting' | 'muted' | null
  /** The revision that it has; null while that is not known. */
  readonly revision: number | null
  /** How many revisions it was told to fetch and has not; null without a connection. */
  readonly behind: number | null
}

export const deviceOperations = {
  /** Local databases in the order of their first sync; `cursor` is null at the end. Times in ms. */
  'device.list': onDatabase(
    {
      scopes: READ,
      effect: 'read',
      summary: 'List the devices that sync',
      input: {
        user: described(optional(text), 'Only those of this user.'),
        cursor: described(optional(text), 'The `cursor` of the page before.'),
      },
    },
    async (opened, { user, cursor }, { folder, read }) => {
      const after = cursor === null ? 0 : readCursor(cursor)
      const sessions = sessionsByClient(opened, folder.serving())
      const subject = user === null ? undefined : foldUserId(user)
      return await read((tx) => {
        const clients = tx.syncClients.list(after, PAGE, subject)
        const last = clients.length === PAGE ? clients.at(-1) : undefined
        return {
          devices: clients.map((client) => describe(tx, client, sessions.get(nameOf(client)))),
          cursor: last === undefined ? null : String(last.number),
        }
      })
    },
  ),
}

/** The newest connection of each local database of a user. */
function sessionsByClient(opened: OpenDatabase, serving: Serving | null): Map<string, LiveSession> {
  const sessions = new Map<string, LiveSession>()
  for (const session of serving?.live.sessions(opened) ?? []) {
    const subject = session.caller?.actor.subject ?? ''
    sessions.set(nameOf({ subject, identity: session.client.identity }), session)
  }
  return sessions
}

/** User ids have no line breaks. */
function nameOf({ subject, identity }: Pick<SyncClient, 'subject' | 'identity'>): string {
  return `${subject}\n${identity}`
}

function describe(tx: ReadTx, client: SyncClient, session: LiveSession | undefined): Device {
  const { identity: device, subject: userId, seen, tables } = client
  const state = session?.describe()
  const current = tx.revision()
  const revision = numberOfRevision(tx.runs.list(), current, state?.revision) ?? null
  const isLate = state !== undefined && state.notifiedAt !== 0
  return {
    device,
    userId,
    seen,
    tables,
    isConnected: session !== undefined,
    origin: session?.client.page?.origin ?? null,
    phase: state === undefined ? null : shownPhase(state.phase),
    revision,
    behind: state === undefined ? null : isLate && revision !== null ? current - revision : 0,
  }
}

function shownPhase(phase: ReturnType<LiveSession['describe']>['phase']): Device['phase'] {
  return phase === 'waiting' || phase === 'muted' ? phase : 'working'
}

/** Throws `INVALID_REQUEST`. */
function readCursor(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor)
  throw new SatchelError('INVALID_REQUEST', 'Invalid cursor: use the one of the previous page')
}
