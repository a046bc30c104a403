import { SatchelError } from '../domain/value/error'
import { requireEmail } from '../domain/value/email'
import { findPolicy, NEW_USERS, type Policy } from '../domain/user/policy'
import { number, optional, text } from './fields'
import { operation } from './operation'

export const policyOperations = {
  'policy.show': operation({ database: text }, async (workspace, input) => {
    const { database } = await workspace.open(input.database)
    return await database.read(findPolicy)
  }),

  /**
   * What is null stays; `seats` is a number of seats or `none` for any number, `hookUrl` an address
   * or `none`. With the first address comes the secret of the web hook, which is told only now.
   */
  'policy.set': operation(
    {
      database: text,
      newUsers: optional(newUsers),
      evalDays: optional(number),
      seats: optional(seats),
      hookUrl: optional(text),
    },
    async (workspace, { newUsers, evalDays, seats, hookUrl, ...input }) => {
      const { webhook } = await workspace.open(input.database)
      const { policy, hookSecret } = await webhook.setPolicy({
        ...(newUsers === null ? {} : { newUsers }),
        ...(evalDays === null ? {} : { evalDays }),
        ...(seats === null ? {} : { seats: seats === 'none' ? null : seats }),
        ...(hookUrl === null ? {} : { hookUrl: hookUrl === 'none' ? null : hookUrl }),
      })
      return { ...policy, ...(hookSecret === null ? {} : { hookSecret }) }
    },
  ),

  /** Asks the web hook about somebody, who becomes no user by that. */
  'policy.test': operation({ database: text, email: text }, async (workspace, input) => {
    const { webhook } = await workspace.open(input.database)
    const email = requireEmail(input.email)
    return { email, ...(await webhook.test({ id: email, email, name: null })) }
  }),

  /** `days`: how long the old secret signs besides. */
  'policy.rotate-secret': operation(
    { database: text, days: optional(number) },
    async (workspace, { days, ...input }) => {
      const { webhook } = await workspace.open(input.database)
      return await webhook.rotate(days ?? undefined)
    },
  ),
}

function newUsers(value: unknown): Policy['newUsers'] {
  const found = NEW_USERS.find((name) => name === value)
  if (found !== undefined) return found
  throw new SatchelError('INVALID_REQUEST', `newUsers must be one of ${NEW_USERS.join(', ')}`)
}

function seats(value: unknown, name: string): number | 'none' {
  return value === 'none' ? 'none' : number(value, name)
}
