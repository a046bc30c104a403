import type { AdminSessions } from '../auth/admin/sessions'
import type { Config } from '../config/config'
import type { Logs } from '../log/log'
import type { LiveView } from './live-view'
import type { CertificateStatus } from '../net/certificate'
import type { RecentFigures } from './recent-figures'

/** The server of a data folder, as administrators see it. */
export interface Serving {
  /** `http://127.0.0.1:7080` */
  readonly url: string
  /** When it began to listen, ms since the epoch. */
  readonly since: number
  /** How many live connections there are. */
  sockets(): number
  /** The live connections of its databases. */
  readonly live: LiveView
  readonly logs: Pick<Logs, 'follow'>
  /** Null without TLS. */
  certificate(): CertificateStatus | null
  /** The page for administrators; null where it is off. */
  readonly admin: AdminAccess | null
  readonly figures: Pick<RecentFigures, 'list'>
  /** The settings that it was started with. */
  readonly config: Config
  readonly signs: Readonly<Signs>
  /** Why databases could not be opened at the start, by name. */
  readonly unopened: ReadonlyMap<string, string>
}

/** The way to log in to the page for administrators. */
export interface AdminAccess {
  readonly sessions: AdminSessions
  /** `http://127.0.0.1:7080/admin`. Throws `NO_PUBLIC_ADDRESS` where no browser could open it. */
  url(): string
}

/** Signs of damage, and of proxies that are set up wrongly, in the requests since the start. */
export interface Signs {
  /** The address of a proxy that forwards requests and is not trusted. */
  unknownProxy: string | null
  /** The address of a trusted proxy that has not said for whom it forwards. */
  silentProxy: string | null
  /** Requests of which a trusted proxy has said that. */
  forwarded: number
  /** Requests for a WebSocket without the header that asks for one. */
  strippedUpgrades: number
  /** Answers that say that stored data is damaged. */
  damagedAnswers: number
}

export function noSigns(): Signs {
  return {
    unknownProxy: null,
    silentProxy: null,
    forwarded: 0,
    strippedUpgrades: 0,
    damagedAnswers: 0,
  }
}
