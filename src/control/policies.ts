import { SatchelError } from '../domain/error'
import { changePolicy, findPolicy, NEW_USERS, type Policy } from '../domain/policy'
import { number, optional, text } from './fields'
import { operation } from './operation'

export const policyOperations = {
  'policy.show': operation({ database: text }, async (workspace, input) => {
    const { database } = await workspace.open(input.database)
    return await database.read(findPolicy)
  }),

  /** What is null stays; `seats` is a number of seats or `none` for any number. */
  'policy.set': operation(
    {
      database: text,
      newUsers: optional(newUsers),
      evalDays: optional(number),
      seats: optional(seats),
    },
    async (workspace, { newUsers, evalDays, seats, ...input }) => {
      const { database } = await workspace.open(input.database)
      return await database.write((tx) =>
        changePolicy(tx, {
          ...(newUsers === null ? {} : { newUsers }),
          ...(evalDays === null ? {} : { evalDays }),
          ...(seats === null ? {} : { seats: seats === 'none' ? null : seats }),
        }),
      )
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
