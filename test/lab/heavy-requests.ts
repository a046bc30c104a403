import { connect } from 'node:net'
import { type Caller, callerOf } from '../http/setup'
import type { Executable } from '../promises/setup'
import { type Attack, experimentOf, poster, type Stage } from './attack'
import { beside, cpuOf, harmOf, MOST_READ } from './beside'
import type { Experiment } from './experiment'

/** The heaviest requests that are allowed, and heavier ones. */
const ATTACKS: readonly Attack[] = [
  {
    title: '50,000 objects, and 999,999',
    async run({ hurl, mallory }) {
      for (const [count, status] of [
        [50_000, 204],
        [999_999, 422],
      ] as const) {
        await hurl(`${count} objects`, [status], poster(mallory, '/my/items', many(count)))
      }
    },
  },
  {
    title: '20,000 realms, whose sender waits or leaves, and SIGTERM then',
    async run({ hurl, mallory, executable, problems, facts }) {
      const realms = poster(mallory, '/my/realms', many(20_000))
      await hurl('20,000 realms', [422], realms)
      const allowed = JSON.stringify(many(5_000))
      await hurl('5,000 realms whose sender leaves', [0], async () => {
        const signal = AbortSignal.timeout(300)
        const headers = { authorization: `Bearer ${mallory.token}` }
        const init = { method: 'POST', body: allowed, headers, signal }
        await fetch(`${executable.main}/my/realms`, init).catch(() => undefined)
        await Bun.sleep(3_000)
        return 0
      })
      void fetch(`${executable.main}/my/realms`, {
        method: 'POST',
        body: allowed,
        headers: { authorization: `Bearer ${mallory.token}` },
        signal: AbortSignal.timeout(300),
      }).catch(() => undefined)
      await Bun.sleep(400)
      const begun = performance.now()
      executable.served.kill('SIGTERM')
      const exitCode = await executable.served.exited
      const seconds = (performance.now() - begun) / 1_000
      facts.push(`ended ${seconds.toFixed(1)} s after SIGTERM`)
      if (exitCode !== 0 || seconds > 11) problems.push(`exit ${exitCode} after ${seconds} s`)
    },
  },
  {
    title: '2,000 rows of members',
    async run({ hurl, mallory }) {
      await mallory.post('/my/realms', { realmId: 'rlm-m', name: 'M' })
      const rows = Array.from({ length: 2_000 }, (_, n) => ({
        realmId: 'rlm-m',
        email: `m${n}@example.com`,
      }))
      await hurl('2,000 members', [204], poster(mallory, '/my/members', rows))
    },
  },
  {
    title: 'an object with as many index entries as it may have, its replacement, its DELETE',
    async run({ hurl, mallory }) {
      const tagged = (count: number, from: number) => ({
        id: 'tagged',
        tags: Array.from({ length: count }, (_, n) => `${from + n}`),
      })
      await hurl('900,000 tags', [422], poster(mallory, '/my/items', tagged(900_000, 0)))
      await hurl('10,000 tags', [204], poster(mallory, '/my/items', tagged(10_000, 0)))
      await hurl('others', [204], poster(mallory, '/my/items', tagged(10_000, 10_000)))
      const remove = async () => (await mallory.remove('/my/items/tagged')).status
      await hurl('DELETE', [204], remove)
    },
  },
  {
    title: 'an imported object with as many index entries as it may have',
    async run({ executable, hurl }) {
      const scopes = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE', 'MANAGE_DB']
      const manager = callerOf(executable.main, await executable.token({ scopes }))
      const importOf = (count: number) => async () => {
        const tags = Array.from({ length: count }, (_, n) => `${n}`)
        const body = JSON.stringify({ data: { 'rlm-public': { items: { tagged: { tags } } } } })
        const headers = { 'content-type': 'application/x-tson' }
        return (await manager.send('POST', '/import', { body, headers })).status
      }
      await hurl('900,000 tags', [422], importOf(900_000))
      await hurl('10,000 tags', [200], importOf(10_000))
    },
  },
  {
    title: 'as many tagged objects as a request may have, and their replacement',
    async run({ hurl, mallory }) {
      const tagged = (count: number, from: number) =>
        Array.from({ length: count }, (_, n) => ({
          id: `tags${n}`,
          tags: Array.from({ length: 900 }, (_unused, tag) => `${from + tag}`),
        }))
      await hurl('1,000 × 900 tags', [422], poster(mallory, '/my/items', tagged(1_000, 0)))
      await hurl('220 × 900 tags', [204], poster(mallory, '/my/items', tagged(220, 0)))
      await hurl('replaced', [204], poster(mallory, '/my/items', tagged(220, 900)))
      // Tags that no two objects share, in no order.
      const scattered = (round: number) =>
        Array.from({ length: 220 }, (_, n) => ({
          id: `tags${n}`,
          tags: Array.from({ length: 900 }, (_unused, tag) => {
            const place = (round * 220 + n) * 900 + tag
            return `${(place * 7_919) % 10_000_019}`
          }),
        }))
      await hurl('scattered', [204], poster(mallory, '/my/items', scattered(0)))
      await hurl('scattered, replaced', [204], poster(mallory, '/my/items', scattered(1)))
    },
  },
  { title: 'scans of a million objects and pages of a quarter of them', run: scan },
  {
    title: 'JSON of 15 MB that is broken at its end',
    async run({ executable, mallory, facts, problems }) {
      const broken = {
        'small objects': `[${'{"id":"a","n":1},'.repeat(55_000)}{"id":`,
        'one text': `{"id":"a","text":"${'x'.repeat(15_000_000)}`,
        'long objects': `[${`{"id":"a","text":"${'x'.repeat(1_000)}"},`.repeat(14_000)}{`,
        numbers: `{"id":"a","n":[${'1.5,'.repeat(900_000)}`,
      }
      for (const [what, body] of Object.entries(broken)) {
        const bytes = Buffer.from(body)
        const send = async () => (await mallory.send('POST', '/my/plain', { body: bytes })).status
        const found = await beside(executable, send, 5)
        facts.push(`${what}: reads ${found.read} ms`)
        if (found.result !== 400) problems.push(`${what} was answered ${found.result}`)
        if (found.read > LONGEST_STRETCH) {
          problems.push(`${what}: a read of others took ${found.read} ms`)
        }
      }
    },
  },
  {
    title: 'large bodies that are announced and then dripped',
    async run({ executable, root, facts, problems }) {
      const sockets = await Promise.all(
        Array.from({ length: 20 }, async (_, n) => {
          const { token } = await executable.as(`dripper${n}@example.com`)
          const socket = connect(Number(new URL(executable.url).port), '127.0.0.1')
          socket.on('error', () => undefined)
          socket.resume()
          socket.write(
            `POST /main/my/plain HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
              `Content-Length: ${16 * 1024 * 1024}\r\n\r\n{"id":"`,
          )
          return socket
        }),
      )
      await Bun.sleep(500)
      const large = { id: 'large', text: 'x'.repeat(2_000_000), realmId: 'rlm-public' }
      const statuses: number[] = []
      for (let n = 0; n < 10; n += 1) {
        for (const socket of sockets) socket.write('x')
        statuses.push((await root.post('/all/plain', large, { prefer: 'return=minimal' })).status)
        await Bun.sleep(500)
      }
      for (const socket of sockets) socket.destroy()
      const refused = statuses.filter((status) => status !== 204).length
      facts.push(`${refused} of ${statuses.length} bodies of 2 MB refused`)
      if (refused > 0) problems.push(`${refused} large bodies of others were refused`)
    },
  },
  {
    title: 'a Content-Type of 15,000 blanks',
    async run({ executable, mallory, facts, problems }) {
      const type = `a${' '.repeat(15_000)}b`
      const found = await beside(
        executable,
        async () => {
          const statuses = new Set<number>()
          for (let n = 0; n < 20; n += 1) statuses.add(await sendTyped(executable, mallory, type))
          return [...statuses].join()
        },
        5,
      )
      facts.push(`answered ${found.result}, reads ${found.read} ms`)
      if (found.read > LONGEST_STRETCH) problems.push(`a read of others took ${found.read} ms`)
    },
  },
  {
    title: 'one member more in a realm of 100,000, its renaming, leaving it',
    async run({ executable, root, costOf, facts, problems }) {
      const owner = await executable.as('owner@example.com')
      await owner.post('/my/realms', { realmId: 'rlm-big', name: 'Big' })
      await addMembers(root, 'rlm-big', 100_000)
      const member = (name: string) => ({ id: name, realmId: 'rlm-big', userId: name })
      const costs = {
        'one more': await costOf(5, (n) => root.post('/all/members', member(`new${n}`))),
        'twenty more': await costOf(3, (n) =>
          root.post(
            '/all/members',
            Array.from({ length: 20 }, (_, each) => member(`more${n}-${each}`)),
          ),
        ),
        'the name of the realm': await costOf(5, (n) =>
          owner.post('/my/realms', { realmId: 'rlm-big', name: `Big ${n}` }),
        ),
        leaving: await costOf(5, (n) => root.remove(`/all/members/new${n}`)),
      }
      for (const [what, cost] of Object.entries(costs)) {
        facts.push(`${what} ${cost.toFixed(1)} ms`)
        if (cost >= 50) problems.push(`${what} took ${cost.toFixed(1)} ms`)
      }
    },
  },
  {
    title: 'the acceptance of an invitation to a realm of 10,000 members',
    async run({ executable, root, costOf, facts, problems }) {
      const owner = await executable.as('owner@example.com')
      await owner.post('/my/realms', { realmId: 'rlm-large', name: 'Large' })
      await addMembers(root, 'rlm-large', 10_000)
      const invitees = Array.from({ length: 21 }, (_, n) => `invitee${n}@example.com`)
      const rows = invitees.map((email, n) => ({ id: `inv${n}`, realmId: 'rlm-large', email }))
      await root.post('/all/members', rows)
      const callers = await Promise.all(invitees.map((email) => executable.as(email)))
      // Loads what they may do: the cost of the write alone counts.
      for (const caller of callers) await caller.get('/my/realms')
      const now = { $t: 'Date', v: new Date(Date.now()).toISOString() }
      const cost = await costOf(invitees.length, async (n) => {
        const row = { ...rows[n], userId: invitees[n], accepted: now }
        return (await callers[n]?.post('/my/members', row)) ?? { status: 0 }
      })
      facts.push(`${cost.toFixed(1)} ms`)
      if (cost >= 5) problems.push(`an acceptance took ${cost.toFixed(1)} ms`)
    },
  },
]

/** The longest stretch in which a parser may let nobody else run, ms. */
const LONGEST_STRETCH = 100
/** How long a scan may go on after its reader has closed, ms. */
const MOST_SCAN = 1_000
const ROWS = 1_000_000

export const heavyRequests: readonly Experiment[] = ATTACKS.map((attack) =>
  experimentOf(34, attack),
)

const many = (length: number) => Array.from({ length }, () => ({}))

async function addMembers(root: Caller, realmId: string, count: number): Promise<void> {
  for (let from = 0; from < count; from += 5_000) {
    const rows = Array.from({ length: Math.min(5_000, count - from) }, (_, n) => ({
      realmId,
      userId: `u${from + n}@example.com`,
    }))
    const { status, text } = await root.post('/all/members', rows, { prefer: 'return=minimal' })
    if (status !== 204) throw new Error(`members were answered ${status} ${text.slice(0, 500)}`)
  }
}

/** Sends a body of this type over a connection of its own: `fetch` trims it. */
function sendTyped({ url }: Executable, { token }: Caller, type: string): Promise<number> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => resolve(0))
    socket.on('data', (bytes) => {
      socket.destroy()
      resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(bytes.toString())?.[1] ?? 0))
    })
    socket.write(
      `POST /main/my/plain HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: ${type}\r\nContent-Length: 2\r\n\r\n{}`,
    )
  })
}

async function scan({ executable, root, facts, problems }: Stage): Promise<void> {
  const cities = Array.from({ length: 20_000 }, (_, n) => ({
    country: n % 4 === 0 ? 'US' : `C${n}`,
    realmId: 'rlm-public',
  }))
  for (let sent = 0; sent < ROWS; sent += cities.length) {
    await root.post('/all/items', cities, { prefer: 'return=minimal' })
  }
  const before = executable.memory().now
  const pages = await beside(executable, async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => root.get('/all/items?country=US&$limit=1')),
    )
    return answers.filter(({ status, text }) => status === 200 && text.startsWith('[{')).length
  })
  const grown = Math.round(executable.memory().now - before)
  facts.push(`100 pages: reads ${pages.read} ms, ${grown} MiB`)
  if (pages.result !== 100) problems.push(`${pages.result} of 100 pages were answered`)
  if (grown > 64) problems.push(`100 pages took ${grown} MiB`)
  problems.push(...harmOf('100 pages', pages))
  const scans = await beside(executable, async () => {
    const answers = await Promise.all(
      Array.from({ length: 24 }, () => root.get('/all/items?name=nope')),
    )
    return answers.filter(({ status, body }) => status === 200 && Array.isArray(body)).length
  })
  facts.push(`${scans.result} of 24 scans whole, reads ${scans.read} ms`)
  if (scans.result < 24) problems.push(`${24 - scans.result} of 24 scans were not answered whole`)
  if (scans.read > MOST_READ) problems.push(`24 scans: a read of others took ${scans.read} ms`)
  const closing = new AbortController()
  const closed = Array.from({ length: 100 }, () =>
    fetch(`${executable.main}/all/items?name=nope`, {
      headers: { authorization: `Bearer ${root.token}` },
      signal: closing.signal,
    }).catch(() => undefined),
  )
  await Bun.sleep(200)
  closing.abort()
  await Promise.all(closed)
  await Bun.sleep(MOST_SCAN)
  const busy = cpuOf(executable)
  await Bun.sleep(1_000)
  const spent = cpuOf(executable) - busy
  facts.push(`${spent} ms of CPU in the second after 100 closed scans`)
  if (spent > 200) problems.push(`closed scans went on: ${spent} ms of CPU in a second`)
}
