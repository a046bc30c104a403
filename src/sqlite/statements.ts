import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite'

export interface Statements {
  readonly prepare: <Row = unknown>(sql: string) => Statement<Row, SQLQueryBindings[]>
  /** Frees them all: a database with a living statement stays open behind `close`. */
  readonly finalize: () => void
}

/** Statements take about 4 KB each; a database may have 500 tables, each with its own. */
const GENERATION = 1_000

/**
 * Compiles each text once and keeps it (bun:sqlite keeps 20). Those that were not asked for while
 * 1,000 others were are freed.
 */
export function keepStatements(db: Database): Statements {
  let young = new Map<string, Statement>()
  let old = new Map<string, Statement>()

  function find(sql: string): Statement {
    const statement = old.get(sql) ?? db.prepare(sql)
    old.delete(sql)
    if (young.size >= GENERATION) {
      free(old)
      old = young
      young = new Map()
    }
    young.set(sql, statement)
    return statement
  }

  function free(statements: ReadonlyMap<string, Statement>): void {
    for (const statement of statements.values()) statement.finalize()
  }

  return {
    prepare<Row>(sql: string) {
      return (young.get(sql) ?? find(sql)) as Statement<Row, SQLQueryBindings[]>
    },
    finalize() {
      free(young)
      free(old)
      young = new Map()
      old = new Map()
    },
  }
}
