import { MANAGE } from '../domain/access/door'
import { requireEmail } from '../domain/value/email'
import { findPolicy, NEW_USERS } from '../domain/user/policy'
import { number, numberOr, oneOf, optional, text } from './fields'
import { onDatabase } from './operation'

/** The policy about new users. */
export const policyOperations = {
  'policy.show': onDatabase(
    { scopes: MANAGE, effect: 'read', summary: 'Show the policy about new users', input: {} },
    async ({ database }) => database.read(findPolicy),
  ),

  /**
   * Null changes nothing; `seats` is a number of seats or `none` for no limit, `hookUrl` an address
   * or `none`. The secret of the web hook is returned once, with its first address.
   */
  'policy.set': onDatabase(
    {
      scopes: MANAGE,
      effect: 'secret',
      summary: 'Set the policy about new users',
      input: {
        newUsers: optional(oneOf(NEW_USERS)),
        evalDays: optional(number),
        seats: optional(numberOr('none')),
        hookUrl: optional(text),
      },
    },
    async ({ webhook }, { newUsers, evalDays, seats, hookUrl }, { write }) => {
      const { policy, hookSecret } = await webhook.setPolicy(
        {
          ...(newUsers === null ? {} : { newUsers }),
          ...(evalDays === null ? {} : { evalDays }),
          ...(seats === null ? {} : { seats: seats === 'none' ? null : seats }),
          ...(hookUrl === null ? {} : { hookUrl: hookUrl === 'none' ? null : hookUrl }),
        },
        write,
      )
      return { ...policy, ...(hookSecret === null ? {} : { hookSecret }) }
    },
  ),

  /** Asks the web hook about a person, without creating a user. */
  'policy.test': onDatabase(
    {
      scopes: MANAGE,
      effect: 'read',
      summary: 'Ask the web hook about a person',
      input: { email: text },
    },
    async ({ webhook }, input) => {
      const email = requireEmail(input.email)
      return { email, ...(await webhook.test({ id: email, email, name: null })) }
    },
  ),

  /** `days`: how long the old secret signs as well. */
  'policy.rotate-secret': onDatabase(
    {
      scopes: MANAGE,
      effect: 'secret',
      summary: 'Replace the secret of the web hook',
      input: { days: optional(number) },
    },
    ({ webhook }, { days }, { write }) => webhook.rotate(days ?? undefined, write),
  ),
}
