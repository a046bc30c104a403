import type Dexie from 'dexie'
import type { Device } from './messages'

interface Writing {
  isEnding: boolean
  readonly ids: string[]
  /** Answers that the add-on took for errors, and alerts to its user. A connection that was cut is neither. */
  readonly errors: string[]
  /** How long each object has taken, ms. */
  readonly waits: number[]
  done: Promise<void>
}

/**
 * Runs in the application of device `n`: it adds an object, waits `pause` ms, and so on; with `isAwaiting` it waits
 * for each acknowledgement, too.
 */
export function beginWriting(
  db: Dexie,
  { n, pause, isAwaiting = false }: { n: number; pause: number; isAwaiting?: boolean },
): void {
  const done = Promise.resolve()
  const writing: Writing = { isEnding: false, ids: [], errors: [], waits: [], done }
  Object.assign(globalThis, { writing })
  db.cloud.syncState.subscribe(({ error }) => {
    if (error !== undefined && !/fetch|socket|connect/i.test(error.message)) {
      writing.errors.push(error.message)
    }
  })
  db.cloud.userInteraction.subscribe((dialog) => {
    if (dialog !== undefined) writing.errors.push(`a dialog: ${dialog.title}`)
  })
  const rest = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
  async function write(): Promise<void> {
    for (let at = 0; !writing.isEnding; at += 1) {
      const id = `itm${n}-${at}`
      const begun = performance.now()
      await db.table('items').add({ id })
      writing.ids.push(id)
      while (isAwaiting && (await db.table('$items_mutations').count()) > 0) await rest(20)
      writing.waits.push(performance.now() - begun)
      await rest(pause)
    }
  }
  writing.done = write()
}

/** Ends it, there too. */
export async function endWriting(_db: Dexie, _given: undefined, device: Device) {
  const { writing } = globalThis as unknown as { writing: Writing }
  writing.isEnding = true
  await writing.done
  const { ids, errors, waits } = writing
  return { ids, errors, waits, statuses: [...new Set(device.syncs.map(({ status }) => status))] }
}
