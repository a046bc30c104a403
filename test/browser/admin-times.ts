import process from 'node:process'
import { chromium } from 'playwright-core'
import { openBrowser } from '../http/admin/setup'
import { cpuOf } from '../lab/beside'
import { setupExecutable } from '../promises/setup'
import { ARGUMENTS, CHROMIUM } from './chromium'

/**
 * `bun test/browser/admin-times.ts [objects]` prints how long `dist/satchel` and a browser take for what people wait for
 * on the page for administrators: its first view, a change in Live, a code in Mail, an object of 10 MB, and pages and
 * the end of a search in a table, by default of 100,000 objects. Then it prints the processor time of writes beside 20
 * followers and beside none, in turn.
 */
const [objects = 100_000] = process.argv.slice(2).map(Number)
const ROUNDS = 7
const WRITES = 40_000
const OBJECT = { realmId: 'rlm-public', name: 'a' }
const MINIMAL = { prefer: 'return=minimal' }

await using undo = new AsyncDisposableStack()
const executable = undo.use(await setupExecutable())
const { commands, main } = executable
const root = await executable.root()
const chrome = await chromium.launch({
  executablePath: CHROMIUM,
  headless: true,
  args: ARGUMENTS,
})
undo.defer(() => chrome.close())
const page = await (await chrome.newContext()).newPage()

async function print(name: string, work: () => Promise<unknown>): Promise<void> {
  const begun = performance.now()
  await work()
  show(name, performance.now() - begun, 'ms')
}

function show(name: string, value: number, unit: string): void {
  process.stdout.write(`${name.padEnd(44)}${value.toFixed(1).padStart(10)} ${unit}\n`)
}

const go = (hash: string) => page.evaluate(`location.hash = ${JSON.stringify(hash)}`)

await print('link to Live, first visit', async () => {
  await page.goto((await commands.run('session.link', {})).url)
  await page.getByText('Following').waitFor()
})
for (const id of ['one', 'two', 'three']) {
  await print('write to its line in Live', async () => {
    await root.post('/all/items', { id, realmId: 'rlm-public' })
    await page.locator('.object-key', { hasText: id }).waitFor()
  })
}
await go('#/main/mail')
await page.getByText('No mail since the server started').waitFor()
await print('login to its code in Mail', async () => {
  const body = { grant_type: 'otp', email: 'carol@example.com', scopes: ['ACCESS_DB'] }
  await fetch(`${main}/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  await page.locator('.code-card .code').waitFor()
})
const texts = Array.from({ length: 10 }, (_, at) => `${at}`.repeat(1_000_000))
await root.post('/all/items', { id: 'large', realmId: 'rlm-public', texts }, MINIMAL)
await print('object of 10 MB', async () => {
  await go('#/main/data/items/large')
  await page.locator('.tree').getByText('10 items').waitFor()
})
await page.close()

for (let from = 0; from < objects; from += 10_000) {
  const some = Array.from({ length: 10_000 }, (_, n) => ({
    realmId: 'rlm-public',
    name: `object ${from + n}`,
  }))
  await root.post('/all/plain', some, MINIMAL)
}
const browser = openBrowser(executable.url)
await browser.post((await commands.run('session.link', {})).url.split('#')[1] ?? '')
const table = { database: 'main', table: 'plain' }
for (const [name, input] of Object.entries({
  'page of 200, the newest': { ...table, newestFirst: true },
  'page of 200, by a property': { ...table, filter: 'name=object 7' },
})) {
  for (let round = 0; round < 3; round += 1)
    await print(name, () => browser.run('object.list', input))
}
for (let round = 0; round < 3; round += 1) {
  const leaving = new AbortController()
  const body = { ...table, search: 'nowhere' }
  const { signal } = leaving
  const searching = browser
    .send('POST', '/api/object.list', { body, signal })
    .catch(() => undefined)
  await Bun.sleep(100)
  leaving.abort()
  await searching
  await Bun.sleep(200)
  const before = cpuOf(executable)
  await Bun.sleep(500)
  show('work 200 to 700 ms after the end of a search', cpuOf(executable) - before, 'ms')
}

const body = { database: 'main' }
const costs: Record<'none' | 'twenty', number[]> = { none: [], twenty: [] }
for (let round = 0; round < ROUNDS; round += 1) {
  for (const kind of ['none', 'twenty'] as const) {
    const leaving = new AbortController()
    const { signal } = leaving
    if (kind === 'twenty') {
      for (let count = 0; count < 20; count += 1) {
        const answer = await browser.send('POST', '/api/live.follow', { body, signal })
        void answer.text().catch(() => undefined)
      }
    }
    const before = cpuOf(executable)
    for (let count = 0; count < WRITES; count += 20) {
      const some = Array.from({ length: 20 }, () => root.post('/all/items', OBJECT, MINIMAL))
      await Promise.all(some)
    }
    costs[kind].push((cpuOf(executable) - before) / WRITES)
    leaving.abort()
    await Bun.sleep(1_000)
  }
}
for (const [kind, all] of Object.entries(costs)) {
  show(`processor time of a write, followers: ${kind}`, 1_000 * Math.min(...all), 'µs (least)')
  show(`processor time of a write, followers: ${kind}`, 1_000 * median(all), 'µs (median)')
}

function median(all: readonly number[]): number {
  return all.toSorted((one, other) => one - other)[Math.floor(all.length / 2)] ?? Number.NaN
}
