import { quoted, SatchelError } from '../domain/value/error'
import { findPolicy } from '../domain/user/policy'
import { foldUserId } from '../domain/value/user-id'
import { readUserChanges } from '../domain/user/change'
import { showUser } from '../domain/user/json'
import { getUser, listUsers, unknownUser } from '../domain/user/list'
import { parseUserQuery } from '../domain/user/query'
import { removeUser } from '../domain/user/removal'
import { writeUser } from '../domain/user/writing'
import { flag, optional, text } from './fields'
import { operation } from './operation'
import type { User } from '../domain/store/users'

export const userOperations = {
  /** `query` is that of `GET /users`, as it stands in an address. */
  'user.list': operation({ database: text, query: text }, async (workspace, input) => {
    const query = parseUserQuery(input.query)
    const { database, authority } = await workspace.open(input.database)
    await authority.settleLogins()
    return await listUsers(database, query, workspace.clock.now())
  }),

  'user.show': operation({ database: text, id: text }, async (workspace, input) => {
    const { database, authority } = await workspace.open(input.database)
    await authority.settleLogins()
    return await getUser(database, foldUserId(input.id), workspace.clock.now())
  }),

  /**
   * `user` is JSON as `POST /users` takes it, for someone who must not be there yet when they are
   * new, and else must be. Name and e-mail become part of the data there is, and stay when the
   * rest of it is replaced.
   */
  'user.write': operation(
    {
      database: text,
      user: text,
      isNew: flag,
      displayName: optional(text),
      email: optional(text),
    },
    async (workspace, { isNew, displayName, email, ...input }) => {
      const now = workspace.clock.now()
      const [change] = readUserChanges(JSON.parse(input.user))
      if (change === undefined) throw new SatchelError('INVALID_REQUEST', 'user must be one user')
      const { database } = await workspace.open(input.database)
      return await database.write(async (tx) => {
        const known = await tx.users.find(change.id)
        if (isNew && known !== undefined) {
          throw new SatchelError('CONFLICT', `There is a user ${quoted(change.id)} already`)
        }
        if (!isNew && known === undefined) throw unknownUser()
        const data = {
          ...(change.data === undefined ? known?.data : nameAndEmailOf(known)),
          ...change.data,
          ...(displayName === null ? {} : { displayName }),
          ...(email === null ? {} : { email }),
        }
        const isGiven = displayName !== null || email !== null || change.data !== undefined
        const policy = await findPolicy(tx)
        const written = isGiven ? { ...change, data } : change
        return showUser(await writeUser(tx, written, policy, now), policy, now)
      })
    },
  ),

  'user.delete': operation({ database: text, id: text }, async (workspace, input) => {
    const id = foldUserId(input.id)
    const { database } = await workspace.open(input.database)
    await database.write((tx) => removeUser(tx, id, workspace.clock.now()))
    return { id }
  }),
}

function nameAndEmailOf(user: User | undefined): User['data'] {
  const entries = Object.entries(user?.data ?? {})
  return Object.fromEntries(entries.filter(([name]) => name === 'displayName' || name === 'email'))
}
