/** A promise shown in full, as long as it takes. */
export interface Experiment {
  /** Of the promise (promises.md). */
  readonly promise: number
  readonly title: string
  /** What one round is, and how many there are unless `--rounds` says otherwise. */
  readonly unit: string
  readonly rounds: number
  /** Why it cannot run here, if it cannot. */
  readonly obstacle?: string | undefined
  run(rounds: number, seed: number): Promise<Finding>
}

export interface Finding {
  /** What was done and seen, in numbers. */
  readonly facts: string
  /** Whatever contradicts the promise; empty when it holds. */
  readonly problems: readonly string[]
}
