import { READ } from '../domain/access/door'
import { actorFor, stateOf } from '../domain/object/explain'
import { newSecret, sameSecret } from '../domain/value/secret'
import { HOUR } from '../domain/value/time'
import { foldUserId } from '../domain/value/user-id'
import { described, text } from './fields'
import { listPage, PAGE, readPage } from './objects'
import { onDatabase } from './operation'

export const seeAsOperations = {
  /**
   * A page of a table as a user has it at `/my`, in the order of creation, as `object.list` gives it. A deactivated user
   * sees nothing. Recorded, except for the pages after one of the last hour.
   */
  'object.listAs': onDatabase(
    {
      // As the user, without a token of theirs.
      scopes: [...READ, 'IMPERSONATE'],
      effect: 'read',
      summary: 'List the objects that a user sees',
      isRecorded: true,
      input: { user: described(text, 'A user id.'), ...PAGE },
    },
    async ({ name, database }, { user, ...page }, context) => {
      const { now, actor: caller } = context
      const id = foldUserId(user)
      const listing = JSON.stringify([caller.subject, name, id, page.table])
      const after = page.cursor === null ? null : readCursor(page.cursor, listing)
      const isRecorded = after !== null && after.begun <= now && now < after.begun + HOUR
      if (!isRecorded) await context.note()
      const { actor, state } = await context.read((tx) => {
        const found = tx.users.find(id)
        return { actor: actorFor(id, found), state: stateOf(found, now) }
      })
      if (state === 'deactivated') return { state, objects: [], cursor: null }
      const { objects, cursor } = await listPage(database, context, {
        ...readPage({ ...page, cursor: after?.position ?? null }),
        actor,
        view: 'my',
        prefix: '',
        isNewestFirst: false,
      })
      const begun = isRecorded ? after.begun : now
      return { state, objects, cursor: cursor && writeCursor(cursor, begun, listing) }
    },
  ),
}

/** Where a page begins, and when the listing that it belongs to was recorded. */
interface Cursor {
  readonly position: string
  /** ms since the epoch; 0: it was not recorded in this process. */
  readonly begun: number
}

/** A cursor that proves that its listing was recorded: `<time>.<proof>.<position>`. */
function writeCursor(position: string, begun: number, listing: string): string {
  return `${begun}.${proofOf(position, begun, listing)}.${position}`
}

/** A cursor without the proof is taken for its position alone. */
function readCursor(cursor: string, listing: string): Cursor {
  const [, time = '', proof = '', position = cursor] = /^(\d+)\.([\w-]+)\.(.*)$/s.exec(cursor) ?? []
  const begun = Number(time)
  return { position, begun: sameSecret(proof, proofOf(position, begun, listing)) ? begun : 0 }
}

function proofOf(position: string, begun: number, listing: string): string {
  key ??= newSecret()
  const hash = new Bun.CryptoHasher('sha256', key)
  return hash.update(JSON.stringify([position, begun, listing])).digest('base64url')
}

/** Of this process: after a restart, the rest of a listing is recorded again. */
let key: string | undefined
