import type { Database } from '../domain/store/store'

/** The parts of the program that write. */
export type ProgramPart =
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

/** The database as a part of the program has it: all that it writes names the part to listeners of commits. */
export type Through = (part: ProgramPart) => Database

/** The handles on a database, one for each part of the program; `use` is called whenever one is used. */
export function handlesOf(database: Database, use: () => void): Through {
  const handles: Partial<Record<ProgramPart, Database>> = {}
  return (part) => (handles[part] ??= handleFor(part, database, use))
}

function handleFor(programPart: ProgramPart, database: Database, use: () => void): Database {
  return {
    id: database.id,
    name: database.name,
    read(work) {
      use()
      return database.read(work)
    },
    write(work, options) {
      use()
      return database.write(work, { ...options, programPart })
    },
    writeSteps(work, options) {
      use()
      return database.writeSteps(work, { ...options, programPart })
    },
    async *verify(meanings, accepts) {
      for await (const step of database.verify(meanings, accepts, programPart)) {
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
