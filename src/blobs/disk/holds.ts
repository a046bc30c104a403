/**
 * The contents that are being kept: from the moment when their bytes are in place until the database says
 * that it needs them, nobody removes them. One process owns the store, so memory is enough.
 */
export interface Holds {
  /**
   * Runs `place` alone on this content, then `record` beside others who keep the same content, then
   * `settle` alone, when the last of them is done: with true when the content is needed, or was there
   * before any of them came.
   */
  keep<T>(hash: string, steps: Keeping<T>): Promise<T>
  /** Runs `work` alone on this content; undefined when somebody is keeping it. */
  unlessKept<T>(hash: string, work: () => Promise<T>): Promise<T | undefined>
}

export interface Keeping<T> {
  /** True when the bytes were not there before. */
  readonly place: () => Promise<boolean>
  readonly record: () => Promise<T>
  readonly settle: (isNeeded: boolean) => Promise<void>
}

interface Content {
  /** How many work on it or wait for their turn. */
  users: number
  /** How many have placed it and not recorded it yet. */
  keepers: number
  isNew: boolean
  isRecorded: boolean
  turn: Promise<unknown>
}

export function createHolds(): Holds {
  const contents = new Map<string, Content>()

  async function using<T>(hash: string, work: (content: Content) => Promise<T>): Promise<T> {
    const content = contents.get(hash) ?? {
      users: 0,
      keepers: 0,
      isNew: false,
      isRecorded: false,
      turn: Promise.resolve(),
    }
    contents.set(hash, content)
    content.users += 1
    try {
      return await work(content)
    } finally {
      content.users -= 1
      if (content.users === 0) contents.delete(hash)
    }
  }

  return {
    keep: (hash, { place, record, settle }) =>
      using(hash, async (content) => {
        try {
          await inTurn(content, async () => {
            content.keepers += 1
            const isNew = await place()
            content.isNew ||= isNew
          })
          const result = await record()
          content.isRecorded = true
          return result
        } finally {
          await inTurn(content, async () => {
            content.keepers -= 1
            if (content.keepers > 0) return
            const isNeeded = content.isRecorded || !content.isNew
            content.isNew = content.isRecorded = false
            await settle(isNeeded)
          })
        }
      }),
    unlessKept: (hash, work) =>
      using(hash, (content) =>
        inTurn(content, async () => (content.keepers > 0 ? undefined : await work())),
      ),
  }
}

function inTurn<T>(content: Content, work: () => Promise<T>): Promise<T> {
  const turn = content.turn.then(work, work)
  content.turn = turn
  return turn
}
