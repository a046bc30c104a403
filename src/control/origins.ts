import { addOrigin, listOrigins, removeOrigin } from '../domain/database/origin'
import { flag, text } from './fields'
import { operation } from './operation'

export const originOperations = {
  'origin.add': operation(
    { database: text, origin: text, force: flag },
    async (workspace, { origin, force, ...input }) => {
      const { database } = await workspace.open(input.database)
      const listed = await database.write((tx) => addOrigin(tx, workspace.clock, origin, { force }))
      return { origin: listed }
    },
  ),

  'origin.remove': operation(
    { database: text, origin: text },
    async (workspace, { origin, ...input }) => {
      const { database } = await workspace.open(input.database)
      const removed = await database.write((tx) => removeOrigin(tx, origin))
      return { origin, removed }
    },
  ),

  'origin.list': operation({ database: text }, async (workspace, input) => {
    const { database } = await workspace.open(input.database)
    return await database.read(listOrigins)
  }),
}
