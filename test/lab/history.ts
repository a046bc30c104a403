/** The version of an object, or null when there is none. */
export type State = number | null

interface Record {
  /** The last acknowledged version. */
  certain: State
  /** The unanswered request, if any. */
  open: State | undefined
}

/** The requests of writers and their acknowledgements, object by object. */
export interface History {
  /** Before a request is sent. Each object has one writer, who waits for its answer. */
  ask(id: string, state: State): void
  /** The request was answered: done, or certainly not done. */
  answer(id: string, isDone: boolean): void
  readonly acknowledged: number
  /** Compares with the stored objects. Returns the contradictions to a promise. */
  contradictions(stored: ReadonlyMap<string, number>): string[]
}

export function createHistory(): History {
  const records = new Map<string, Record>()
  let acknowledged = 0
  return {
    ask(id, state) {
      const record = records.get(id)
      if (record === undefined) records.set(id, { certain: null, open: state })
      else record.open = state
    },
    answer(id, isDone) {
      const record = records.get(id)
      if (record?.open === undefined) throw new Error(`nobody asked for ${id}`)
      if (isDone) {
        record.certain = record.open
        acknowledged += 1
      }
      record.open = undefined
    },
    get acknowledged() {
      return acknowledged
    },
    contradictions(stored) {
      const unknown = [...stored.keys()].filter((id) => !records.has(id))
      const wrong = [...records].filter(([id, { certain, open }]) => {
        const found = stored.get(id) ?? null
        return found !== certain && (open === undefined || found !== open)
      })
      return [
        ...unknown.map((id) => `${id} is there, though nobody asked for it`),
        ...wrong.map(
          ([id, { certain, open }]) =>
            `${id} is ${stored.get(id) ?? 'gone'}, but ${certain ?? 'gone'} was acknowledged` +
            (open === undefined ? '' : ` and ${open ?? 'gone'} was under way`),
        ),
      ]
    },
  }
}
