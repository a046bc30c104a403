import type { Caller } from '../http/setup'
import { type Browser, openBrowser } from '../http/admin/setup'
import type { Executable } from '../promises/setup'
import { type Attack, experimentOf, type Stage } from './attack'
import { beside, cpuOf, harmOf, type Waits } from './beside'
import type { Experiment } from './experiment'

/** Operations of the page for administrators (admin.md §4 greedy page), as a client of one database may send them. */

const MEGABYTE = 1_000_000
/** The most memory of the process, MiB. */
const MOST_MEMORY = 700
/** An object of 15 MB is parsed and printed in one stretch: others may wait for a few of them, ms. */
const BESIDE_LARGE: Waits = { write: 2_000, read: 1_000 }
/** How much CPU may be spent in a second that begins one second after all callers have left, ms. */
const MOST_AFTER = 300
/** Requests at a time: a page sends six. */
const TOGETHER = 60

/** How often an operation is asked for by a caller who leaves at once. */
const LEFT = 100

/** Of inputs that are refused, and of one that costs little. */
const OUTCOMES = ['ok', 'INVALID_REQUEST', 'UNPROCESSABLE', 'UNKNOWN_REALM', 'UNKNOWN_OBJECT']

const MAIN = { database: 'main' }
const LARGE = { ...MAIN, table: 'plain', key: 'large' }

const ATTACKS: readonly Attack[] = [
  {
    title: 'inputs of 15 MB in each field of the operations of the page',
    async run(stage) {
      const browser = await logIn(stage.executable)
      const text = 'a=1&'.repeat((15 * MEGABYTE) / 4)
      const inputs: Readonly<Record<string, readonly [string, object]>> = {
        'a filter': ['object.list', { ...MAIN, table: 'plain', filter: text }],
        'a search': ['object.list', { ...MAIN, table: 'plain', search: text }],
        'a key': ['object.show', { ...LARGE, key: text }],
        'a realm': ['realm.add', { ...MAIN, realm: text, name: 'x' }],
        'an address': ['member.add', { ...MAIN, realm: 'rlm-a', email: text }],
        properties: ['object.put', { ...LARGE, value: numbered(800_000) }],
        permissions: ['role.put', { ...MAIN, name: 'x', permissions: numbered(800_000) }],
        roles: ['member.update', { ...MAIN, member: 'x', roles: Object.keys(numbered(900_000)) }],
      }
      for (const [what, [operation, input]] of Object.entries(inputs)) {
        const send = asker(browser, operation, input)
        await stage.hurl(what, OUTCOMES, send)
      }
      requireMemory(stage)
    },
  },
  {
    title: `${TOGETHER} objects of 15 MB written through the page at once, and shown to readers that take nothing`,
    async run(stage) {
      const { executable, facts } = stage
      const browser = await logIn(executable)
      const texts = Array.from({ length: 15 }, () => 'x'.repeat(MEGABYTE))
      const value = { id: 'large', realmId: 'rlm-public', texts }
      const put = asker(browser, 'object.put', { ...LARGE, value })
      await judge(stage, 'writes', () => counted(put), BESIDE_LARGE)
      requireMemory(stage)
      const leaving = new AbortController()
      const { signal } = leaving
      const unread = async () => {
        const body = JSON.stringify(LARGE)
        const asked = Array.from({ length: TOGETHER }, () =>
          browser.send('POST', '/api/object.show', { body, signal }).catch(() => undefined),
        )
        await Bun.sleep(5_000)
        leaving.abort()
        await Promise.all(asked)
        return 'left'
      }
      await judge(stage, 'unread answers', unread, BESIDE_LARGE)
      requireMemory(stage)
      facts.push(`then ${await asker(browser, 'object.list', { ...MAIN, table: 'items' })()}`)
    },
  },
  {
    title: `${TOGETHER} searches of 100,000 objects at once, whose callers stay or leave`,
    async run(stage) {
      const { executable, root } = stage
      const browser = await logIn(executable)
      await fill(root, 100_000)
      const input = { ...MAIN, table: 'items', search: 'nowhere' }
      await judge(stage, 'searches', () => counted(asker(browser, 'object.list', input)))
      const leaving = new AbortController()
      const left = Array.from({ length: TOGETHER }, asker(browser, 'object.list', input, leaving))
      await Bun.sleep(300)
      leaving.abort()
      await Promise.all(left)
      await requireRest(stage, 'searches')
    },
  },
  {
    title: `operations that read all of 256 MB of blobs, each asked for and left ${LEFT} times`,
    async run(stage) {
      const { executable, root } = stage
      const browser = await logIn(executable)
      const headers = { 'content-type': 'application/octet-stream' }
      for (let count = 0; count < 64; count += 1) {
        const body = crypto.getRandomValues(Buffer.alloc(4 * MEGABYTE))
        const { status } = await root.send('PUT', `/blob/${`b${count}`.padEnd(24, 'x')}`, {
          body,
          headers,
        })
        if (status !== 200) throw new Error(`A blob was answered ${status}`)
      }
      const archive = { operation: 'export', input: { ...MAIN, format: 'zip' }, name: 'x' }
      const openings: Readonly<Record<string, (signal: AbortSignal) => Promise<Response>>> = {
        verifications: (signal) =>
          browser.send('POST', '/api/blob.verify', { body: JSON.stringify(MAIN), signal }),
        archives: async (signal) => {
          const answer = await browser.send('POST', '/ticket', { body: archive, signal })
          const { ticket } = (await answer.json()) as { readonly ticket: string }
          return await browser.send('GET', `/file/${ticket}`, { signal })
        },
      }
      for (const [what, open] of Object.entries(openings)) {
        await judge(stage, what, async () => {
          for (let count = 0; count < LEFT; count += 1) {
            const leaving = new AbortController()
            const opened = open(leaving.signal).catch(() => undefined)
            await Bun.sleep(20)
            leaving.abort()
            await opened
          }
          return `${LEFT} left`
        })
        await requireRest(stage, what)
      }
      requireMemory(stage)
    },
  },
  {
    title: 'lists of 10,000 realms, of a realm of 10,000 members and of the figures, many at once',
    async run(stage) {
      const { executable, root } = stage
      const browser = await logIn(executable)
      for (let from = 0; from < 10_000; from += 1_000) {
        const realms = Array.from({ length: 1_000 }, (_, n) => ({
          realmId: `rlm-${from + n}`,
          name: `Realm ${from + n}`,
        }))
        await store(root, '/all/realms', realms)
        const members = realms.map((_, n) => ({
          realmId: 'rlm-0',
          userId: `u${from + n}@example.com`,
        }))
        await store(root, '/all/members', members)
      }
      const lists: Readonly<Record<string, readonly [string, object]>> = {
        'all realms': ['realm.list', MAIN],
        'realms by a name': ['realm.list', { ...MAIN, search: 'nowhere' }],
        members: ['member.list', { ...MAIN, realm: 'rlm-0' }],
        roles: ['role.list', { ...MAIN, realm: 'rlm-0' }],
        tables: ['table.list', MAIN],
        figures: ['server.figures', {}],
      }
      for (const [what, [operation, input]] of Object.entries(lists)) {
        await judge(stage, what, () => counted(asker(browser, operation, input)))
      }
      requireMemory(stage)
    },
  },
]

export const pageOperations: readonly Experiment[] = ATTACKS.map((attack) =>
  experimentOf(34, attack),
)

async function logIn({ commands, url }: Executable): Promise<Browser> {
  const browser = openBrowser(url)
  const link = await commands.run('session.link', {})
  const answer = await browser.post(link.url.split('#')[1] ?? '')
  if (!answer.ok) throw new Error(`No login: ${answer.status}`)
  return browser
}

/** Asks for an operation; resolves to the code of its refusal, or to `ok`. */
function asker(
  browser: Browser,
  operation: string,
  input: object,
  { signal }: Partial<AbortController> = {},
): () => Promise<string> {
  // Made in advance, because the probes run in this process too.
  const body = JSON.stringify(input)
  const options = signal === undefined ? { body } : { body, signal }
  return async () => {
    try {
      const answer = await browser.send('POST', `/api/${operation}`, options)
      const end = (await answer.text()).trimEnd().split('\n').at(-1) ?? ''
      return /"code":"(\w+)"/.exec(end.slice(0, 1_000))?.[1] ?? 'ok'
    } catch (error) {
      if (signal?.aborted === true) return 'left'
      throw error
    }
  }
}

/** The outcomes of many at once: `58 ok, 2 BUSY`. */
async function counted(ask: () => Promise<string>): Promise<string> {
  const outcomes = await Promise.all(Array.from({ length: TOGETHER }, ask))
  const groups = Object.entries(Object.groupBy(outcomes, (outcome) => outcome))
  return groups.map(([outcome, all]) => `${all?.length ?? 0} ${outcome}`).join(', ')
}

/** Lets others work beside, and says how they fared. */
async function judge(
  { executable, facts, problems }: Stage,
  title: string,
  work: () => Promise<string>,
  most?: Waits,
): Promise<void> {
  const found = await beside(executable, work)
  facts.push(`${title}: ${found.result}, writes ${found.write} ms, reads ${found.read} ms`)
  problems.push(...harmOf(title, found, most))
}

/** Requires that nothing goes on of what callers have left. */
async function requireRest({ executable, facts, problems }: Stage, what: string): Promise<void> {
  await Bun.sleep(1_000)
  const before = cpuOf(executable)
  await Bun.sleep(1_000)
  const spent = cpuOf(executable) - before
  facts.push(`${spent} ms of CPU in the second after they left`)
  if (spent > MOST_AFTER) problems.push(`${what} went on: ${spent} ms of CPU in a second`)
}

function requireMemory({ executable, facts, problems }: Stage): void {
  const peak = Math.round(executable.memory().peak)
  facts.push(`${peak} MiB`)
  if (peak > MOST_MEMORY) problems.push(`the server took ${peak} MiB`)
}

async function fill(root: Caller, count: number): Promise<void> {
  for (let from = 0; from < count; from += 10_000) {
    const objects = Array.from({ length: 10_000 }, (_, n) => ({
      realmId: 'rlm-public',
      name: `object ${from + n}`,
    }))
    await store(root, '/all/items', objects)
  }
}

async function store(root: Caller, path: string, objects: readonly object[]): Promise<void> {
  const { status, text } = await root.post(path, objects, { prefer: 'return=minimal' })
  if (status !== 204) throw new Error(`${path} was answered ${status} ${text.slice(0, 500)}`)
}

function numbered(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, n]))
}
