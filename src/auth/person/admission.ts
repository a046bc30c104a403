import type { Clock } from '../../clock'
import { SatchelError } from '../../domain/value/error'
import {
  admitUser,
  findPolicy,
  type Intent,
  rejection,
  type Verdict,
  verdictOn,
  type Person,
} from '../../domain/user/policy'
import type { Database } from '../../domain/store/store'
import { findUser } from '../../domain/access/actor'
import type { User } from '../../domain/store/users'

/**
 * Asks the web hook of a database about a person (protocol.md §13.1): outside every unit, because it
 * may take seconds. Throws `WEBHOOK_ERROR`.
 */
export type AskWebhook = (person: Person) => Promise<Verdict>

/** Admits users, and newcomers according to the policy of the database. */
export interface Admission {
  /**
   * The user of a person with a proven identity. Throws `USER_NOT_REGISTERED`,
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
  const asking = new Map<string, Promise<User | undefined>>()

  /** The user that a verdict makes of a person; undefined when it rejects them. */
  async function decide(person: Person, verdict: Verdict): Promise<User | undefined> {
    const { action, ...rest } = verdict
    if (action === 'reject') return undefined
    return await database.write((tx) => admitUser(tx, person, { action, ...rest }, clock.now()))
  }

  /** Concurrent logins of the same person share one answer. */
  function decideByWebhook(person: Person): Promise<User | undefined> {
    const question = JSON.stringify([person.id, person.email])
    const asked = asking.get(question)
    if (asked !== undefined) return asked
    const answer = askOnce(person).finally(() => asking.delete(question))
    asking.set(question, answer)
    return answer
  }

  async function askOnce(person: Person): Promise<User | undefined> {
    // Another login may have got an answer since the caller looked.
    const known = await database.read((tx) => findUser(tx, person.id))
    return known ?? (await decide(person, await askWebhook(person)))
  }

  return {
    async admit(person, intent) {
      const { known, policy } = await database.read((tx) => ({
        known: findUser(tx, person.id),
        policy: findPolicy(tx),
      }))
      if (known !== undefined) return known
      const action = verdictOn(policy, intent)
      const user = await (action === 'webhook'
        ? decideByWebhook(person)
        : decide(person, { action }))
      if (user === undefined) throw rejection(intent)
      return user
    },
  }
}

async function noWebhook(): Promise<never> {
  throw new SatchelError(
    'WEBHOOK_ERROR',
    'Sign-up is decided by a web hook, and none is configured',
  )
}
