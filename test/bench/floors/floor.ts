/** The start parameters of a floor. */
export interface FloorSettings {
  /** Its database file. */
  readonly file: string
  /** Status and headers of every answer: those Satchel gives. */
  readonly init: ResponseInit
  /** The indexed properties. */
  readonly indexes: readonly string[]
  /** A body Satchel answered with. */
  readonly answer: string
}

export type Handler = (request: Bun.BunRequest) => Response | Promise<Response>

export type Routes = Record<string, Handler | { POST: Handler } | { PUT: Handler }>

/** The smallest program that answers one workload (design.md §7). */
export type Floor = (settings: FloorSettings) => Routes | Promise<Routes>
