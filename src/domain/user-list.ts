import type { ReadTx } from './store'
import type { User } from './user'
import { MAX_USERS, type UserFilter, type UserPosition } from './user-query'

/** Every user that passes the filter, by user id: where there cannot be many. */
export async function listEveryUser(tx: ReadTx, filter: UserFilter = {}): Promise<User[]> {
  const users: User[] = []
  let end: UserPosition | undefined
  do {
    const page = await tx.users.list({
      ...filter,
      order: 'userId',
      isDescending: false,
      limit: MAX_USERS,
      ...(end === undefined ? {} : { after: end }),
    })
    users.push(...page.users)
    end = page.end
  } while (end !== undefined)
  return users
}
