/** A promise shown in full, as long as it takes. */
export interface Experiment {
  /** Of the promise (promises.md). */
  readonly promise: number
  readonly title: string
  /** The meaning of one round, and the number of rounds without `--rounds`. */
  readonly unit: string
  readonly rounds: number
  /** Why it cannot run here, if it cannot. */
  readonly obstacle?: string | undefined
  run(rounds: number, seed: number): Promise<Finding>
}

export interface Finding {
  /** The counts of the run. */
  readonly facts: string
  /** Everything that contradicts the promise; empty when it holds. */
  readonly problems: readonly string[]
}
