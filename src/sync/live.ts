import { createSteadyClock } from '../auth/steady-clock'
import type { Clock } from '../clock'
import type { Actor } from '../domain/access/actor'
import { SECOND } from '../domain/value/time'
import type { OpenDatabase } from '../host/host'
import type { Hosts } from '../host/hosts'
import { createFrameMemory } from './frame-memory'
import { createGate } from './gate'
import { type Answering, createHub, type Hub } from './hub'
import type { Rejections } from '../host/live-event'
import type { LiveView } from '../host/live-view'
import type { SocketClient, SocketOwner } from './socket'

/** The live connections of a server (protocol.md §5). Disposing it forgets them. */
export interface Live extends LiveView, Disposable {
  /**
   * The owner of a socket that a client is about to open. Without an actor its token was not valid: it
   * is told so once it is open, because a client whose upgrade is refused waits for its user. Throws
   * `TOO_MANY_REQUESTS` for a client whose frames have just cost others too much (`Gate`).
   */
  connect(
    host: OpenDatabase,
    client: SocketClient,
    actor: Actor | undefined,
    network: string,
  ): SocketOwner
  /** Called before a request of a client is executed; `subject` is null for an anonymous one. */
  answering(host: OpenDatabase, identity: string, subject: string | null): Answering
  /** How many sockets are open, of all databases. */
  readonly count: number
  /** Tells followers what a request could not change; `find` is called if anybody follows. */
  rejected(database: string, find: () => Rejections | undefined): void
}

export interface LiveOptions {
  readonly hosts: Hosts
  /** The time of the machine. */
  readonly clock: Clock
  readonly report: (database: string, error: unknown) => void
}

export function createLive({ hosts, clock, report }: LiveOptions): Live {
  const gate = createGate(createSteadyClock(clock))
  const frames = createFrameMemory()
  const hubs = new Map<string, Hub>()
  const timer = setInterval(tick, SECOND)
  timer.unref()

  function hubOf({ name, database, clock }: OpenDatabase): Hub {
    const known = hubs.get(name)
    if (known?.databaseId === database.id) return known
    known?.detach()
    // Tokens must end even when the system clock is set back.
    const steady = createSteadyClock(clock)
    const hub = createHub(database.id, {
      open: async () => (hosts.findOpen(name) ?? (await hosts.open(name))).database,
      now: () => steady.now(),
      report: (error) => report(name, error),
    })
    hubs.set(name, hub)
    hub.attach(database)
    return hub
  }

  function tick(): void {
    frames.check()
    for (const [name, hub] of hubs) {
      if (hub.isIdle) {
        hub.detach()
        hubs.delete(name)
      } else {
        hub.tick()
      }
    }
  }

  hosts.watch({
    opened({ name, database }) {
      const hub = hubs.get(name)
      if (hub?.databaseId === database.id) hub.attach(database)
    },
    removed: (name) => hubs.get(name)?.end(),
    disconnected: (name) => hubs.get(name)?.drop(),
  })

  return {
    connect(host, client, actor, network) {
      const { identity } = client
      const subject = actor?.subject ?? null
      const user = subject === null ? null : `${host.database.id}\n${subject}`
      const ticket = gate.enter({ user, identity, network })
      const hub = hubOf(host)
      const session = hub.connect(client, actor && callerOf(actor, hub.now()), ticket)
      return frames.watched(session, subject === null)
    },
    answering: (host, identity, subject) => hubOf(host).answering(identity, subject),
    get count() {
      return [...hubs.values()].reduce((sum, { size }) => sum + size, 0)
    },
    sessions: (host) => hubOf(host).sessions,
    follow: (host, follower) => hubOf(host).follow(follower),
    rejected: (database, find) => hubs.get(database)?.rejected(find),
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

/** The token's times count by the clock of its database, which may be ahead. */
function callerOf(actor: Actor, now: number) {
  const { credential } = actor
  const lead = credential === undefined ? 0 : credential.verified - now
  return { actor, lead, ends: credential === undefined ? Infinity : credential.expires - lead }
}
