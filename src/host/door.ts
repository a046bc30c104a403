import type { Database } from '../domain/store/store'

/** The parts of the program that write. */
export type Door =
  | 'rest'
  | 'sync'
  | 'import'
  | 'command'
  | 'page'
  | 'auth'
  | 'mail'
  | 'jobs'
  | 'upkeep'
  | 'test'

/** The database as a door has it: all that it writes names the door to listeners of commits. */
export type Through = (door: Door) => Database

/** The handles on a database, one for each door; `use` is called whenever one is used. */
export function doorsOf(database: Database, use: () => void): Through {
  const handles: Partial<Record<Door, Database>> = {}
  return (door) => (handles[door] ??= handleFor(door, database, use))
}

function handleFor(origin: Door, database: Database, use: () => void): Database {
  return {
    id: database.id,
    name: database.name,
    read(work) {
      use()
      return database.read(work)
    },
    write(work, options) {
      use()
      return database.write(work, { ...options, origin })
    },
    writeSteps(work, options) {
      use()
      return database.writeSteps(work, { ...options, origin })
    },
    async *verify(meanings, accepts) {
      for await (const step of database.verify(meanings, accepts, origin)) {
        use()
        yield step
      }
    },
    async copy() {
      use()
      return await database.copy()
    },
    onCommit: (listener) => database.onCommit(listener),
    commitsAfter: (revision) => database.commitsAfter(revision),
    duty: (name, granted) => database.duty(name, granted),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}
