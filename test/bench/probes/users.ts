import type { Bench, Workload } from '../bench'
import { openEmptySatchel } from '../fixture'
import { crowd, postPeople, searches } from '../people'
import { atMost, type Figure } from '../result'
import { percentile } from '../statistics'
import { USER_ORDERS } from '../../../src/domain/store/users'

/** Every order of 100,000 users in both directions, from the first page to the last. */
export const userOrders: Workload = {
  name: 'users-sort',
  run: (bench) =>
    withPeople(bench, async (list) => {
      const worst = rounds(bench, async () => {
        const slowest = new Map<string, number>()
        for (const order of USER_ORDERS) {
          for (const desc of ['', '&desc']) {
            const { times, users } = await readPages(list, `sort=${order}${desc}`, Infinity)
            if (users !== crowd) throw new Error(`${order}${desc} lists ${users} users`)
            slowest.set(order + desc, percentile(times, 0.99))
          }
        }
        return slowest
      })
      const title = `GET /users, ${crowd.toLocaleString('en')} users, all orders and pages: p99`
      return [figure(title, 20, 10, await worst)]
    }),
}

/** Searches that few, some, many and all of 100,000 users match. */
export const userSearches: Workload = {
  name: 'users-search',
  run: (bench) =>
    withPeople(bench, async (list) => {
      for (const text of searches.narrow) {
        const { users } = await readPages(list, `search=${encodeURIComponent(text)}`, Infinity)
        if (users > crowd / 10) throw new Error(`${text} is found ${users} times: not narrow`)
      }
      const narrow = await rounds(bench, () => searchEach(list, searches.narrow))
      const wide = await rounds(bench, () => searchEach(list, searches.wide))
      return [
        figure('GET /users?search, at most a tenth match: p99', 20, 10, narrow),
        figure('GET /users?search, any: p99', 60, 20, wide),
      ]
    }),
}

/** Answers with a page of users; resolves to how long that took, ms, and what it was. */
type List = (query: string) => Promise<{ readonly time: number; readonly page: Page }>

interface Page {
  readonly data: readonly unknown[]
  readonly pagingKey?: string
}

async function withPeople(
  bench: Bench,
  work: (list: List) => Promise<Figure[]>,
): Promise<Figure[]> {
  if (bench.options.isFloorOnly) return []
  await using satchel = await openEmptySatchel(bench)
  await postPeople(satchel)
  const headers = { authorization: `Bearer ${await satchel.issueToken('client')}` }
  return await work(async (query) => {
    const begin = performance.now()
    const response = await fetch(`${satchel.url}/users?${query}`, { headers })
    const text = await response.text()
    const time = performance.now() - begin
    if (!response.ok) throw new Error(`GET /users?${query}: ${response.status} ${text}`)
    return { time, page: JSON.parse(text) as Page }
  })
}

/** The slowest case of every round, by name. */
async function rounds(bench: Bench, run: () => Promise<ReadonlyMap<string, number>>) {
  const values: number[] = []
  for (let round = 0; round < bench.options.rounds; round += 1) {
    const [[name, slowest] = ['nothing', Number.NaN]] = [...(await run())].toSorted(
      ([, one], [, other]) => other - one,
    )
    bench.say(`  round ${round + 1}: ${slowest.toFixed(1)} ms for ${name}`)
    values.push(slowest)
  }
  return values
}

function figure(title: string, bar: number, goal: number, values: readonly number[]): Figure {
  return { title, bar: atMost(bar, goal, 'ms'), values, value: percentile(values, 0.5) }
}

/** The p99 of each text: the first pages in three orders from both ends, of all sizes. */
async function searchEach(list: List, texts: readonly string[]): Promise<Map<string, number>> {
  const slowest = new Map<string, number>()
  for (const text of texts) {
    const times: number[] = []
    for (const order of ['userId', 'created', 'displayName'] as const) {
      for (const end of ['', '&desc', '&limit=50', '&limit=50&desc']) {
        const query = `search=${encodeURIComponent(text)}&sort=${order}${end}`
        for (let time = 0; time < 5; time += 1) {
          times.push(...(await readPages(list, query, 2)).times)
        }
      }
    }
    slowest.set(text, percentile(times, 0.99))
  }
  return slowest
}

/** Reads pages until there are no more, or so many. */
async function readPages(list: List, query: string, most: number) {
  const times: number[] = []
  let users = 0
  let next = ''
  do {
    const { time, page } = await list(query + next)
    times.push(time)
    users += page.data.length
    if (page.pagingKey === undefined) break
    next = `&pagingKey=${page.pagingKey}`
  } while (times.length < most)
  return { times, users }
}
