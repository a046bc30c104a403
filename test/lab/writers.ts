import type { Caller } from '../http/setup'
import type { History } from './history'
import type { Random } from './random'

/** The writers of a run. Their objects are marked, so that they can be found again. */
export interface Run {
  readonly root: Caller
  /** The `country` of everything written. */
  readonly mark: string
  readonly history: History
}

/**
 * Creates, replaces and removes objects of its own, one request at a time, until the server is gone
 * or `isOver`. Throws when a request is answered as none of these may be.
 */
export async function writeAway(
  run: Run,
  writer: number,
  random: Random,
  isOver: () => boolean = () => false,
): Promise<void> {
  const versions = new Map<string, number>()
  for (let count = 0; !isOver(); count += 1) {
    const known = [...versions.keys()]
    const kind = known.length === 0 ? 0 : random.next()
    try {
      if (kind < 0.5) await create(run, versions, `${run.mark}-${writer}-${count}`, random)
      else if (kind < 0.8) await replace(run, versions, random.pick(known), random)
      else await remove(run, versions, random.pick(known))
    } catch (error) {
      if (isConnectionLost(error)) return
      throw error
    }
  }
}

async function create(run: Run, versions: Map<string, number>, id: string, random: Random) {
  const ids = Array.from({ length: random.pick([1, 1, 1, 5, 20]) }, (_, n) => `${id}-${n}`)
  for (const each of ids) run.history.ask(each, 1)
  const isDone = await post(
    run,
    ids.map((each) => objectOf(run, each, 1, random)),
  )
  for (const each of ids) {
    run.history.answer(each, isDone)
    if (isDone) versions.set(each, 1)
  }
}

async function replace(run: Run, versions: Map<string, number>, id: string, random: Random) {
  const version = (versions.get(id) ?? 0) + 1
  run.history.ask(id, version)
  const isDone = await post(run, [objectOf(run, id, version, random)])
  run.history.answer(id, isDone)
  if (isDone) versions.set(id, version)
}

async function remove(run: Run, versions: Map<string, number>, id: string) {
  run.history.ask(id, null)
  const { status } = await run.root.remove(`/public/items/${id}`)
  run.history.answer(id, isDone(status))
  if (isDone(status)) versions.delete(id)
}

async function post(run: Run, objects: readonly object[]): Promise<boolean> {
  const { status } = await run.root.post('/public/items', objects, { prefer: 'return=minimal' })
  return isDone(status)
}

function objectOf({ mark }: Run, id: string, n: number, random: Random) {
  return { id, country: mark, n, pad: 'x'.repeat(random.pick([0, 10, 100, 100, 3_000])) }
}

/** 503 is a promise too: nothing was stored. */
function isDone(status: number): boolean {
  if (status === 204) return true
  if (status === 503) return false
  throw new Error(`a write was answered ${status}`)
}

export function isConnectionLost(error: unknown): boolean {
  return (
    error instanceof Error && /closed|reset|refused|connect/i.test(`${error.name} ${error.message}`)
  )
}

/** The stored objects of a run: versions by key, found by its index. */
export async function readRun(root: Caller, mark: string): Promise<Map<string, number>> {
  const { status, text } = await root.get(`/public/items?country=${mark}`)
  if (status !== 200) throw new Error(`a list was answered ${status}`)
  const objects = JSON.parse(text) as { id: string; n: number }[]
  return new Map(objects.map(({ id, n }) => [id, n]))
}
