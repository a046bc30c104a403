import { PUBLIC_CLIENT } from '../domain/access/actor'
import type { RealmRef } from '../domain/store/realms'
import type { CommitUnit } from '../domain/store/store'
import { createAudience } from './audience'
import type { Session } from './session'
import { BLIND, type Sight } from './sight'

/** The sessions of a database that are open, found by the events that concern them. */
export function createListeners() {
  const sessions = new Set<Session>()
  /** Sockets of a user share one `Sight`, which listens to each of its realms in their place. */
  const byRealm = createAudience<RealmRef, Sight>()
  const bySight = createAudience<Sight, Session>()
  const bySubject = createAudience<string, Session>()
  const byClient = createAudience<string, Session>()
  const byRecord = createAudience<string, Session>()

  return {
    get size() {
      return sessions.size
    },
    [Symbol.iterator]: () => sessions.values(),
    add(session: Session) {
      sessions.add(session)
      byClient.add(clientOf(session), session)
      for (const subject of subjectsOf(session)) bySubject.add(subject, session)
      for (const record of recordsOf(session)) byRecord.add(record, session)
    },
    remove(session: Session) {
      sessions.delete(session)
      byClient.remove(clientOf(session), session)
      for (const subject of subjectsOf(session)) bySubject.remove(subject, session)
      for (const record of recordsOf(session)) byRecord.remove(record, session)
    },
    /** The session sees the realms of its sight, and no longer those of `before`. */
    moved(session: Session, before: Sight) {
      const { sight } = session
      if (sight !== BLIND && bySight.add(sight, session)) {
        for (const realm of sight.realms) byRealm.add(realm, sight)
        for (const realm of sight.invited) byRealm.add(realm, sight)
      }
      if (before !== BLIND && bySight.remove(before, session)) {
        for (const realm of before.realms) byRealm.remove(realm, before)
        for (const realm of before.invited) byRealm.remove(realm, before)
      }
    },
    /** The sessions of a local database (`clientOf`). */
    ofClient: (client: string): Iterable<Session> => byClient.of(client),
    /** Calls `visit` with the sessions that see the realm. */
    seeing(realm: RealmRef, visit: (session: Session) => void) {
      for (const sight of byRealm.of(realm)) {
        for (const session of bySight.of(sight)) visit(session)
      }
    },
    /** Calls `visit` with the sessions whose rights or whose tokens the unit may have changed. */
    doubtedBy({ subjects, records }: CommitUnit, visit: (session: Session) => void) {
      for (const subject of subjects) {
        for (const session of bySubject.of(subject)) visit(session)
      }
      for (const record of records) {
        const concerned = record === 'everything' ? sessions : byRecord.of(record)
        for (const session of concerned) visit(session)
      }
    },
  }
}

/** Names the local database of a user. */
export function clientName(identity: string, subject: string | null): string {
  return `${subject ?? ''}\n${identity}`
}

export function clientOf({ client, caller }: Session): string {
  return clientName(client.identity, caller?.actor.subject ?? null)
}

/** The names under which commits announce changes that concern the user (`CommitUnit.subjects`). */
function subjectsOf({ caller }: Session): readonly string[] {
  const { subject = null, email = null } = caller?.actor ?? {}
  return [...new Set([subject, email])].filter((name) => name !== null)
}

/** The client and the login that the token ends with, as commits name them (`CommitUnit.records`). */
function recordsOf({ caller }: Session): readonly string[] {
  const facts = caller?.actor.credential?.facts
  if (facts === undefined) return []
  const { clientId, login } = facts
  const client = clientId === PUBLIC_CLIENT ? [] : [`clients ${clientId}`]
  return login === null ? client : [...client, `logins ${login}`]
}
