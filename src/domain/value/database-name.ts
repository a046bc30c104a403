import { quoted, unprocessable } from './error'

/** First path segments that no database may take (design.md §2). */
const RESERVED = new Set(
  'service health ready metrics admin openapi docs api test token create-db'.split(' '),
)
const NAME = /^[a-z][a-z0-9-]{0,62}$/

export function isDatabaseName(name: string): boolean {
  return NAME.test(name) && !RESERVED.has(name)
}

/** A name that is hardly taken, like those of Dexie Cloud: `z` and eight letters and digits. */
export function newDatabaseName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(8))
  return `z${Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]).join('')}`
}

/** 32 of them, so that each is as likely as every other. */
const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789'

/** Throws `UNPROCESSABLE` when a database cannot have this name. */
export function requireDatabaseName(name: string): void {
  if (RESERVED.has(name)) {
    throw unprocessable(`The name ${name} is reserved: choose another one`)
  }
  if (!NAME.test(name)) {
    throw unprocessable(
      `${quoted(name)} is not a database name: use a to z, 0 to 9 and -, beginning with a letter, at most 63 characters`,
    )
  }
}
