import process from 'node:process'
import { type Actor, ANONYMOUS, SERVER } from '../domain/access/actor'
import { foldEmail } from '../domain/value/email'
import type { AuditLine } from '../domain/store/audit'

/** The caller of an operation, for its rights and for the line about it. */
export interface Caller {
  /** The caller in the database that the input names. */
  readonly actor: Actor
  /** True for the owner of the data folder, who needs no scope. */
  readonly isOperator: boolean
  readonly door: AuditLine['door']
  /** The user of the operating system, for commands. */
  readonly uid: number | null
  /** The IP address. */
  readonly address: string | null
  /** The login to the page for administrators. */
  readonly session: string | null
  /** True for a login that changes nothing and sees no secrets. */
  readonly isReadOnly?: boolean
}

/** A command of this user of the operating system: its right is the data folder. */
export function operator(uid: number | null): Caller {
  return { actor: SERVER, isOperator: true, door: 'command', uid, address: null, session: null }
}

/** A person without a token, who has proved this e-mail address. */
export function ofPerson(email: string, address: string): Caller {
  return ofCaller({ ...ANONYMOUS, subject: foldEmail(email) }, address)
}

/** A caller over HTTP. */
export function ofCaller(actor: Actor, address: string): Caller {
  return { actor, isOperator: false, door: 'rest', uid: null, address, session: null }
}

/** The user of the operating system that runs this process. */
export function ownUid(): number | null {
  return process.getuid?.() ?? null
}
