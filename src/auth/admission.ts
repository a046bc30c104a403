import type { Clock } from '../clock'
import { SatchelError } from '../domain/error'
import {
  admitUser,
  findPolicy,
  type Intent,
  rejection,
  type Verdict,
  verdictOn,
} from '../domain/policy'
import type { Database } from '../domain/store'
import { findUser, type Person, type User } from '../domain/user'

/** Asks the web hook of a database about a person (protocol.md §13.1). Throws `WEBHOOK_ERROR`. */
export type AskWebhook = (person: Person) => Promise<Verdict>

/** Lets people in: those who are known, and others as the policy of the database says. */
export interface Admission {
  /**
   * The user that a person is, who has proven to be that person. Throws `USER_NOT_REGISTERED`,
   * `USER_NOT_ACCEPTED`, `NO_SEATS_AVAILABLE`, `WEBHOOK_ERROR` (protocol.md §2.3), and `BUSY` while
   * an earlier user with this id is still being removed.
   */
  admit(person: Person, intent?: Intent): Promise<User>
}

export function createAdmission(
  database: Database,
  clock: Clock,
  askWebhook: AskWebhook = noWebhook,
): Admission {
  return {
    async admit(person, intent) {
      const { user, policy } = await database.read(async (tx) => ({
        user: await findUser(tx, person.id),
        policy: await findPolicy(tx),
      }))
      if (user !== undefined) return user
      const said = verdictOn(policy, intent)
      const { action, ...rest } = said === 'webhook' ? await askWebhook(person) : { action: said }
      if (action === 'reject') throw rejection(intent)
      const verdict = { action, ...rest }
      return await database.write((tx) => admitUser(tx, person, verdict, clock.now()))
    },
  }
}

async function noWebhook(): Promise<never> {
  throw new SatchelError(
    'WEBHOOK_ERROR',
    'Nobody can say whether you may come in: this server has no web hook to ask',
  )
}
