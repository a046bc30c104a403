import { readFileSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { serveApplication } from '../browser/addon/application'
import { ARGUMENTS, CHROMIUM } from '../browser/chromium'
import { setupExecutable } from '../promises/setup'
import type { Finding } from './experiment'

/** Numbers of rows, and how many of them a page must be able to hold. */
const STEPS = [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000]
const MUST = 100_000
const BATCH = 5_000
/** How long all steps may take, ms. */
const PATIENCE_MS = 300_000

/**
 * The first sync of the published add-on in Chromium, with more and more rows of about 100 bytes, until
 * the page does not survive or the time is over: how long it takes, and the memory of the page.
 */
export async function measureFirstSyncs(rounds: number): Promise<Finding> {
  await using stack = new AsyncDisposableStack()
  const executable = stack.use(await setupExecutable())
  const upload = new Blob(['{"todoItems":"@id, title"}']).stream()
  await executable.commands.run('schema.push', { database: 'main', wait: true }, { upload })
  const application = stack.use(await serveApplication(executable.main, 'live.js'))
  const root = await executable.root()
  const deadline = performance.now() + PATIENCE_MS
  const facts: string[] = []
  const problems: string[] = []
  let stored = 0
  for (const rows of STEPS.filter((step) => step <= rounds)) {
    for (; stored < rows; stored += BATCH) {
      const objects = Array.from({ length: BATCH }, (_, at) => rowAt(stored + at))
      const { status } = await root.post('/public/todoItems', objects, { prefer: 'return=minimal' })
      if (status >= 300) throw new Error(`The rows were answered ${status}`)
    }
    const left = deadline - performance.now()
    const { seconds, megabytes, end } = await syncOnce(application.url, rows, Math.max(0, left))
    const count = rows.toLocaleString('en')
    facts.push(`${count} rows: ${end ?? `${seconds.toFixed(1)} s`}, ${Math.round(megabytes)} MB`)
    if (end === undefined) continue
    if (rows <= MUST) problems.push(`${count} rows: ${end}`)
    break
  }
  return { facts: facts.join('; '), problems }
}

const rowAt = (n: number) => ({
  id: `tdt${String(n).padStart(24, '0')}pub`,
  title: `Title of object number ${n}`,
  done: n % 2 === 0,
  n,
})

interface Outcome {
  readonly seconds: number
  /** The most that the process of the page held. */
  readonly megabytes: number
  /** Why the rows did not arrive. */
  readonly end: string | undefined
}

/** Opens the application in a new browser and waits until it has all rows. */
async function syncOnce(url: string, rows: number, patience: number): Promise<Outcome> {
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    headless: true,
    args: ARGUMENTS,
  })
  try {
    const page = await browser.newPage()
    const crash = Promise.withResolvers<string>()
    page.on('crash', () => crash.resolve('the page crashed'))
    const begun = performance.now()
    const deadline = begun + patience
    let megabytes = 0
    let end: string | undefined
    await page.goto(url)
    while (end === undefined) {
      const looked = page.evaluate<{ count: number; error: string | undefined }>(LOOK)
      const wait = Bun.sleep(Math.max(0, deadline - performance.now()))
      const found = await Promise.race([
        looked.catch((error: Error) => String(error)),
        crash.promise,
        wait.then(() => 'the time was over'),
      ])
      megabytes = Math.max(megabytes, await memoryOf(browser))
      if (typeof found === 'string') end = found
      else if (found.count === rows) break
      else if (found.error !== undefined) end = found.error
      else if (performance.now() > deadline) end = 'the time was over'
      else await Bun.sleep(250)
    }
    return { seconds: (performance.now() - begun) / 1_000, megabytes, end }
  } finally {
    await browser.close()
  }
}

const LOOK = `(async () => {
  if (typeof db === 'undefined') return { count: 0 }
  const { phase, error } = db.cloud.syncState.value
  return {
    count: await db.table('todoItems').count(),
    error: phase === 'error' ? String(error) : undefined,
  }
})()`

/** MB that the process of the page held at its peak. */
async function memoryOf(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession()
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  await session.detach()
  const peaks = processInfo
    .filter(({ type }) => type === 'renderer')
    .map(({ id }) => {
      try {
        const status = readFileSync(`/proc/${id}/status`, 'utf8')
        return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1_000
      } catch {
        return 0
      }
    })
  return Math.max(0, ...peaks)
}
