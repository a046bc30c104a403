import type { Bench } from '../bench'
import { openEmptySatchel } from '../fixture'
import { atMost, type Figure } from '../result'
import type { Satchel } from '../satchel'
import { residentMegabytes } from '../server-process'
import { type Answer, listen, openClient, type Person } from './client'

const USERS = 1_000
/** Sockets of each user. */
const DEVICES = 10
const REALMS = 1_000
/** Realms of each user. */
const EACH = 20
const ROWS = 500
/** Sockets that connect at the same time while the crowd gathers. */
const TOGETHER = 100

interface Member extends Person {
  readonly answer: Answer
}

/**
 * 10,000 idle sockets of 1,000 users in 20 realms each: their memory, and how long it takes until all
 * of them are back after they were disconnected and half of the users joined another realm.
 */
export async function measureCrowd(bench: Bench): Promise<Figure[]> {
  await using satchel = await openEmptySatchel(bench)
  await seed(satchel)
  const crowd: Member[] = []
  for (let user = 0; user < USERS; user += 1) crowd.push(await join(satchel, user))
  const sockets: WebSocket[] = []
  const before = await residentMegabytes(satchel.pid)
  for (let start = 0; start < USERS * DEVICES; start += TOGETHER) {
    const numbers = Array.from({ length: TOGETHER }, (_, at) => start + at)
    sockets.push(...(await Promise.all(numbers.map((n) => connect(satchel, crowd, n)))))
  }
  await Bun.sleep(5_000)
  const kilobytes = (((await residentMegabytes(satchel.pid)) - before) * 1024) / sockets.length
  for (const socket of sockets) socket.close()
  await Bun.sleep(2_000)
  const changed = Array.from({ length: USERS / 2 }, (_, at) => at * 2)
  await addMembers(
    satchel,
    changed.map((user) => ({ realmId: realmOf(user + 500), userId: idOf(user) })),
  )
  const { refused, took } = await storm(satchel, crowd)
  const title = '10,000 idle sockets of 1,000 users in 20 realms each'
  return [
    {
      title: `${title}, RSS of one`,
      bar: atMost(4, 3, 'KB'),
      values: [kilobytes],
      value: kilobytes,
    },
    {
      title: `${title}: all back, half of them with other realms`,
      bar: atMost(10, 5, 's'),
      values: [took / 1_000],
      value: refused === 0 ? took / 1_000 : Infinity,
    },
  ]

  /** Connects everybody at once; those whose realms changed are told. */
  async function storm({ url }: Satchel, all: readonly Member[]) {
    let told = 0
    let lost = 0
    const back: WebSocket[] = []
    const begin = performance.now()
    const numbers = Array.from({ length: USERS * DEVICES }, (_, at) => at)
    await Promise.all(
      numbers.map(async (number) => {
        const { token, answer } = all[number % USERS]!
        const heard = (type: string) => void (told += type.startsWith('realm') ? 1 : 0)
        try {
          back.push(await listen(url, token, `device${number}`, answer, heard))
        } catch {
          lost += 1
        }
      }),
    )
    const open = performance.now() - begin
    const expected = (USERS * DEVICES) / 2
    while (told < expected && performance.now() - begin < 60_000) await Bun.sleep(5)
    const end = performance.now() - begin
    bench.say(`  ${Math.round(open)} ms until open, ${lost} refused, ${told} of ${expected} told`)
    for (const socket of back) socket.close()
    return { refused: lost, took: told < expected ? Infinity : end }
  }
}

async function connect({ url }: Satchel, crowd: readonly Member[], number: number) {
  const { token, answer } = crowd[number % USERS]!
  return await listen(url, token, `device${number}`, answer, () => undefined)
}

async function seed(satchel: Satchel): Promise<void> {
  const realms = Array.from({ length: REALMS }, (_, at) => ({ realmId: realmOf(at) }))
  for (let start = 0; start < REALMS; start += ROWS) {
    await satchel.send('POST', '/all/realms', JSON.stringify(realms.slice(start, start + ROWS)))
  }
  const rows = Array.from({ length: USERS }, (_, user) =>
    Array.from({ length: EACH }, (_each, at) => ({
      realmId: realmOf(user + at * 13),
      userId: idOf(user),
    })),
  ).flat()
  await addMembers(satchel, rows)
}

async function addMembers(satchel: Satchel, rows: readonly object[]): Promise<void> {
  for (let start = 0; start < rows.length; start += ROWS) {
    await satchel.send('POST', '/all/members', JSON.stringify(rows.slice(start, start + ROWS)))
  }
}

async function join({ url, client }: Satchel, user: number): Promise<Member> {
  const userId = idOf(user)
  const { clientId, clientSecret } = client
  const response = await fetch(`${url}/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      scopes: ['ACCESS_DB'],
      claims: { sub: userId, email: userId, name: userId },
    }),
  })
  if (!response.ok) throw new Error(`POST /token: ${response.status} ${await response.text()}`)
  const { accessToken: token } = (await response.json()) as { accessToken: string }
  const person = { userId, token }
  return { ...person, answer: await openClient(url, person, `device${user}`).sync([]) }
}

function idOf(user: number): string {
  return `user${user}@bench.test`
}

function realmOf(number: number): string {
  return `rlmcrowd${String(number % REALMS).padStart(4, '0')}`
}
