import type { AdminSessions } from '../auth/admin/sessions'
import type { CertificateStatus } from '../net/certificate'

/** The server of a data folder, as administrators see it. */
export interface Serving {
  /** `http://127.0.0.1:7080` */
  readonly url: string
  /** When it began to listen, ms since the epoch. */
  readonly since: number
  /** How many live connections there are. */
  sockets(): number
  /** Null without TLS. */
  certificate(): CertificateStatus | null
  /** The page for administrators; null where it is off. */
  readonly admin: AdminAccess | null
}

/** The way to log in to the page for administrators. */
export interface AdminAccess {
  readonly sessions: AdminSessions
  /** `http://127.0.0.1:7080/admin`. Throws `NO_PUBLIC_ADDRESS` where no browser could open it. */
  url(): string
}
