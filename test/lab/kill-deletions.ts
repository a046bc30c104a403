import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { countJobs, type Estate, estateOf, postEstate } from '../bench/estate'
import { type Caller, objectsOf } from '../http/setup'
import { type Executable, startExecutable } from '../promises/setup'
import { temporaryFolder } from '../setup'
import { integrityOf } from './integrity'
import { kill } from './kill-writers'
import { createRandom } from './random'

export interface DeletionReport {
  readonly deletions: number
  readonly kills: number
  /** How often the deletion had not begun for anybody when it was killed, and how often it had. */
  readonly untouched: number
  readonly begun: number
  readonly problems: readonly string[]
}

/** How often a deletion is killed before it may come to its end. */
const KILLS = 3

/**
 * Kills the executable while it deletes users who own `objects` objects in 50 realms: whenever it
 * starts again, each realm is as it was or as it is to be, and in the end nothing is left of what
 * only that user could see (spec.md §3).
 */
export async function killDeletions(
  deletions: number,
  seed: number,
  objects: number,
): Promise<DeletionReport> {
  using folder = temporaryFolder()
  const random = createRandom(seed)
  const problems: string[] = []
  const seen = { kills: 0, untouched: 0, begun: 0 }
  let executable = await startExecutable(folder.path)
  try {
    let duration = 0
    for (let round = 1; round <= deletions; round += 1) {
      const estate = estateOf(`d${round}`)
      const complain = (problem: string) => problems.push(`deletion ${round}: ${problem}`)
      const root = await executable.root()
      await postEstate((path, json) => post(root, path, json), estate, objects)
      const before = await countRealms(root, estate)
      const answer = root.remove(`/users/${estate.owner}`).then(
        ({ status }) => status,
        // Killed before it answered.
        () => 0,
      )
      let isAcknowledged = false
      // The first one lives, to tell how long it takes; the others die somewhere in between.
      if (round === 1) {
        const begun = performance.now()
        isAcknowledged = (await answer) === 204
        await untilDone(folder.path)
        duration = performance.now() - begun
      }
      for (let death = 0; round > 1 && death < KILLS; death += 1) {
        await Bun.sleep(duration * random.next() * (death === 0 ? 0.4 : 0.3))
        await kill(executable)
        seen.kills += 1
        isAcknowledged ||= (await answer) === 204
        executable = await startExecutable(folder.path, { client: executable.client })
        const again = await executable.root()
        const isGone = (await again.get(`/users/${estate.owner}`)).status === 404
        if (isAcknowledged && !isGone) complain('it was acknowledged, but the user is there')
        if (death === 0) seen[isGone ? 'begun' : 'untouched'] += 1
        for (const problem of await halves(again, estate, before, isGone)) complain(problem)
        if (!isGone) {
          isAcknowledged = (await again.remove(`/users/${estate.owner}`)).status === 204
        }
      }
      await untilDone(folder.path)
      for (const problem of await remains(executable, estate, before)) complain(problem)
      const integrity = integrityOf(folder.path)
      if (integrity !== 'ok') complain(integrity)
    }
  } finally {
    await executable[Symbol.asyncDispose]()
  }
  return { deletions, ...seen, problems }
}

async function post(root: Caller, path: string, json: string): Promise<void> {
  const { status, text } = await root.post(path, json, { prefer: 'return=minimal' })
  if (status >= 300) throw new Error(`POST ${path}: ${status} ${text}`)
}

/** How many objects there are by realm. */
async function countRealms(root: Caller, { realms }: Estate): Promise<Map<string, number>> {
  const counts = new Map(realms.map((realm) => [realm, 0]))
  for (const { realmId } of objectsOf(await root.get('/all/items'))) {
    const known = counts.get(String(realmId))
    if (known !== undefined) counts.set(String(realmId), known + 1)
  }
  return counts
}

/** Realms that are neither as they were nor as they are to be. */
async function halves(
  root: Caller,
  estate: Estate,
  before: ReadonlyMap<string, number>,
  isGone: boolean,
): Promise<string[]> {
  const earlier = await ownersOf(root)
  const counts = await countRealms(root, estate)
  const rights = await rightsIn(root, estate)
  const owners = await ownersOf(root)
  const problems: string[] = []
  for (const realm of estate.realms) {
    // It was left while this looked.
    if (earlier.get(realm) !== owners.get(realm)) continue
    const count = counts.get(realm)
    const isLeft = realm === estate.owner ? isGone : owners.get(realm) !== estate.owner
    const isShared = estate.shared.includes(realm)
    const expected = isLeft && !isShared ? 0 : before.get(realm)
    if (count !== expected) {
      problems.push(`${realm}, ${isLeft ? 'left' : 'not left'}, has ${count} objects`)
    }
    if (isShared && rights.get(realm) !== (isLeft ? estate.heirs.length : 0)) {
      problems.push(`${realm}, ${isLeft ? 'left' : 'not left'}, has ${rights.get(realm)} managers`)
    }
    if (isLeft && !isGone) problems.push(`${realm} is left, but the user is there`)
  }
  return problems
}

async function ownersOf(root: Caller): Promise<Map<string, unknown>> {
  const realms = objectsOf(await root.get('/all/realms'))
  return new Map(realms.map(({ realmId, owner }) => [String(realmId), owner]))
}

/** How many members manage each shared realm. */
async function rightsIn(root: Caller, { shared }: Estate): Promise<Map<string, number>> {
  const counts = new Map(shared.map((realm) => [realm, 0]))
  for (const { realmId, permissions } of objectsOf(await root.get('/all/members'))) {
    const known = counts.get(String(realmId))
    const isManager = (permissions as { manage?: unknown } | undefined)?.manage === '*'
    if (known !== undefined && isManager) counts.set(String(realmId), known + 1)
  }
  return counts
}

async function untilDone(folder: string): Promise<void> {
  const file = join(folder, 'databases', 'main', 'database.sqlite')
  const deadline = performance.now() + 300_000
  while (countJobs(file) > 0) {
    if (performance.now() > deadline) throw new Error('the work in the background does not end')
    await Bun.sleep(20)
  }
}

/** Remains of a deleted user that should be gone. */
async function remains(
  executable: Executable,
  estate: Estate,
  before: ReadonlyMap<string, number>,
): Promise<string[]> {
  const caller = await executable.root()
  const problems = await halves(caller, estate, before, true)
  const owned = [...(await ownersOf(caller)).values()].filter((owner) => owner === estate.owner)
  if (owned.length > 0) problems.push(`${owned.length} realms are still theirs`)
  using database = new Database(join(executable.folder, 'databases', 'main', 'database.sqlite'), {
    readonly: true,
  })
  const erased = "SELECT number FROM realm_ids WHERE state <> 'live'"
  const table = `o_${database.query<{ number: number }, []>("SELECT number FROM tables WHERE name = 'items'").get()?.number}`
  const leftovers: readonly [string, string][] = [
    ['jobs', 'SELECT count(*) AS n FROM jobs'],
    ['realms that are being erased', "SELECT count(*) AS n FROM realm_ids WHERE state = 'erasing'"],
    ['objects', `SELECT count(*) AS n FROM ${table} WHERE realm IN (${erased})`],
    ['tombstones', `SELECT count(*) AS n FROM tombstones WHERE realm IN (${erased})`],
    ['memberships', `SELECT count(*) AS n FROM memberships WHERE realm IN (${erased})`],
    [
      'index entries',
      `SELECT count(*) AS n FROM index_entries WHERE seq NOT IN (SELECT seq FROM ${table})`,
    ],
  ]
  for (const [what, sql] of leftovers) {
    const { n } = database.query<{ n: number }, []>(sql).get() ?? { n: Number.NaN }
    if (n !== 0) problems.push(`${n} ${what} are left`)
  }
  const mine = database
    .query<{ n: number }, [string]>('SELECT count(*) AS n FROM memberships WHERE user_id = ?')
    .get(estate.owner)
  if (mine?.n !== 0) problems.push(`${mine?.n} memberships of the user are left`)
  return problems
}
