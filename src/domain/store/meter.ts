import { Histogram } from '../value/histogram'

/** What an engine counts, of all its databases since the start. */
export class Meter {
  /** How long units have waited for their turn, in seconds. */
  readonly waits = new Histogram([0.001, 0.005, 0.02, 0.1, 0.5, 1, 5])
  commits = 0
  checkpoints = 0
}

/** The state of an engine. */
export interface EngineFigures {
  /** Undefined in an engine that does not count. */
  readonly meter: Meter | undefined
  /** The databases that are open, by name. */
  readonly databases: readonly DatabaseFigures[]
}

export interface DatabaseFigures {
  readonly name: string
  /** Units that wait for their turn. */
  readonly waiting: number
  /** The size of its rows on the disk, and that of the log before them, in bytes. */
  readonly bytes: number
  readonly log: number
  /** Objects, those of built-in tables apart. */
  readonly objects: number
  readonly users: number
}
