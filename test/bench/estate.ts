import { Database } from 'bun:sqlite'
import { crowdedCountry, itemKey, itemText } from './rows'

/** The data of a user: objects in their private realm, in realms of their own and in shared ones. */
export interface Estate {
  readonly owner: string
  readonly realms: readonly string[]
  /** It has other members, but no other manager. */
  readonly shared: readonly string[]
  readonly heirs: readonly string[]
}

/** Stores a JSON text under a path of the database. */
export type Post = (path: string, json: string) => Promise<void>

/** 50 realms, half of them shared; `mark` tells one estate from another. */
export function estateOf(mark: string): Estate {
  const owner = `owner-${mark}@bench.test`
  const own = Array.from({ length: 49 }, (_, index) => `rlm${mark}x${index}`)
  return {
    owner,
    realms: [owner, ...own],
    shared: own.slice(24),
    heirs: Array.from({ length: 20 }, (_, index) => `heir${index}-${mark}@bench.test`),
  }
}

/** Makes the user, the realms with their members, and `count` objects in the table `items`. */
export async function postEstate(post: Post, estate: Estate, count: number): Promise<void> {
  const { owner, realms, shared, heirs } = estate
  await post('/users', JSON.stringify({ userId: owner, type: 'prod' }))
  await post(
    '/all/realms',
    JSON.stringify(realms.slice(1).map((realmId) => ({ realmId, name: realmId, owner }))),
  )
  const members = shared.flatMap((realmId) => heirs.map((userId) => ({ realmId, userId })))
  await post('/all/members', JSON.stringify(members))
  const size = 1000
  for (let begin = 0; begin < count; begin += size) {
    const texts = Array.from({ length: Math.min(size, count - begin) }, (_, index) =>
      objectOf(estate, begin + index),
    )
    await post('/all/items', `[${texts.join(',')}]`)
  }
}

/** The pending background work in the database of a file that a server has open. */
export function countJobs(file: string): number {
  using database = new Database(file, { readonly: true })
  return database.query<{ jobs: number }, []>('SELECT count(*) AS jobs FROM jobs').get()?.jobs ?? 0
}

function objectOf({ owner, realms }: Estate, number: number): string {
  const realmId = realms[number % realms.length] ?? owner
  const id = itemKey(realms[1]?.slice(3).padEnd(12, '0').slice(0, 12) ?? '', number)
  return itemText(
    { id, realmId, owner, country: crowdedCountry(number % 200), rank: number % 10 },
    number,
  )
}
