import type { SyncClient } from '../domain/store/sync'
import { readTexts, withoutText } from '../domain/sync/text'
import type { Declared } from './client-copy'

/** What the sessions of a database share when they send: texts that are made once, and the memory of those that wait. */
export type Outbox = ReturnType<typeof createOutbox>

/** The characters of all messages that wait in memory for slow readers: with more, clients have to pull. */
const MAX_WAITING_CHARACTERS = 8 * 1024 * 1024

const NO_MESSAGE = { head: '', changes: '', text: '' }
const NO_CHANGES = { texts: '', changes: '', text: '' }

export function createOutbox() {
  let waiting = 0
  let message = NO_MESSAGE
  let stripped = NO_CHANGES
  let declared = { tables: new Set<string>(), texts: '' }

  return {
    /** A `changes` message: clients that were in step before get the same text. */
    message(fields: object, changes: string): string {
      const head = JSON.stringify(fields)
      if (message.head !== head || message.changes !== changes) {
        message = { head, changes, text: `${head.slice(0, -1)},"changes":[${changes}]}` }
      }
      return message.text
    },
    /** Changes without these `Y.Doc` properties, the same for all clients of one application. */
    withoutTexts(changes: string, texts: string): string {
      if (stripped.texts !== texts || stripped.changes !== changes) {
        stripped = { texts, changes, text: withoutText(changes, readTexts(texts)) }
      }
      return stripped.text
    },
    /** What a client has declared: clients of one application share one value. */
    declared({ tables, texts }: Pick<SyncClient, 'tables' | 'texts'>): Declared {
      const known = declared.tables
      const isSame = known.size === tables.length && tables.every((name) => known.has(name))
      if (!isSame || declared.texts !== texts) declared = { tables: new Set(tables), texts }
      return declared
    },
    /** False, and nothing is reserved, when too many characters wait for slow readers. */
    reserve(characters: number): boolean {
      if (waiting + characters > MAX_WAITING_CHARACTERS) return false
      waiting += characters
      return true
    },
    release: (characters: number) => void (waiting -= characters),
    /** All sessions are up to date: frees the last texts. */
    rest() {
      message = NO_MESSAGE
      stripped = NO_CHANGES
    },
  }
}
