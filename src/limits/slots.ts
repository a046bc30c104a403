import { aborted } from '../domain/value/error'

export interface SlotLimits {
  /** How many callers are let in at a time; absent: any number. */
  readonly most?: number
  /** How many of them may be of one owner; absent: all. */
  readonly mostOfOwner?: number
  /** How often those inside are asked to yield while others wait, ms. */
  readonly checkMs?: number
}

export interface Taking {
  readonly owner: string
  /** Aborted when the caller is gone. */
  readonly signal: AbortSignal
  /** Leaves if the caller makes too little use of its slot, and returns true then; absent: it does not. */
  readonly yields?: () => boolean
}

interface Waiting extends Taking {
  readonly enter: () => void
}

const CHECK_MS = 1_000

/** Lets so many callers in at a time, the others in their order, which an owner with a full share holds up for nobody. */
export function createSlots({
  most = Infinity,
  mostOfOwner = Infinity,
  checkMs = CHECK_MS,
}: SlotLimits) {
  const inside = new Set<Taking>()
  const countsByOwner = new Map<string, number>()
  const waiting = new Set<Waiting>()
  let timer: Timer | undefined

  const hasShare = ({ owner }: Pick<Taking, 'owner'>) =>
    (countsByOwner.get(owner) ?? 0) >= mostOfOwner
  const mayEnter = (taking: Taking) => inside.size < most && !hasShare(taking)

  function count({ owner }: Taking, change: number): void {
    const sum = (countsByOwner.get(owner) ?? 0) + change
    if (sum > 0) countsByOwner.set(owner, sum)
    else countsByOwner.delete(owner)
  }

  function enter(taking: Taking): () => void {
    const taken = { ...taking }
    inside.add(taken)
    count(taking, 1)
    return () => {
      if (!inside.delete(taken)) return
      count(taking, -1)
      for (const next of waiting) if (mayEnter(next)) next.enter()
    }
  }

  /** Makes room for those that wait, one for each. */
  function askToYield(): void {
    const asked = new Set<Taking>()
    for (const next of waiting) {
      for (const other of inside) {
        if (asked.has(other) || (hasShare(next) && other.owner !== next.owner)) continue
        asked.add(other)
        if (other.yields?.() === true) break
      }
    }
  }

  function wait(taking: Taking): Promise<() => void> {
    timer ??= setInterval(askToYield, checkMs)
    return new Promise((resolve, reject) => {
      const over = () => {
        waiting.delete(next)
        taking.signal.removeEventListener('abort', leave)
        if (waiting.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
      const leave = () => {
        over()
        reject(aborted())
      }
      const next: Waiting = {
        ...taking,
        enter() {
          over()
          resolve(enter(taking))
        },
      }
      waiting.add(next)
      taking.signal.addEventListener('abort', leave)
    })
  }

  return {
    /** Several callers are inside. */
    get isShared(): boolean {
      return inside.size > 1
    },
    /** So many of the owner are inside that others have to wait for them. */
    hasShare: (owner: string): boolean => hasShare({ owner }),
    /**
     * Gives the way to leave: at once, or when it is the turn of the caller. Throws `BUSY` when the caller is gone
     * meanwhile.
     */
    async take(taking: Taking): Promise<() => void> {
      if (taking.signal.aborted) throw aborted()
      return mayEnter(taking) ? enter(taking) : await wait(taking)
    },
  }
}
