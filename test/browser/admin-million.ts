import { createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'
import { chromium } from 'playwright-core'
import { temporaryFolder } from '../setup'
import { ARGUMENTS, CHROMIUM } from './chromium'

/**
 * `bun test/browser/admin-million.ts [objects] [seconds]` fills a table of `dist/satchel` through the command line, by
 * default with 1,000,000 objects, scrolls it on the page for administrators for 60 seconds, and prints how long frames
 * took and how much memory the tab has.
 */
const EXECUTABLE = join(import.meta.dir, '..', '..', 'dist', 'satchel')
const [objects = 1_000_000, seconds = 60] = process.argv.slice(2).map(Number)

await using undo = new AsyncDisposableStack()
const folder = undo.use(temporaryFolder()).path
const data = ['--data', join(folder, 'data')]
const server = Bun.spawn([EXECUTABLE, 'serve', ...data, '--port', '0', '--json'], {
  stdin: 'ignore',
  stdout: 'pipe',
  stderr: 'ignore',
})
undo.defer(async () => {
  server.kill()
  await server.exited
})
// Its line says that it listens.
await server.stdout.getReader().read()
const schema = join(folder, 'schema.json')
await Bun.write(schema, JSON.stringify({ notes: '@id, count' }))
await run('schema', 'push', schema)
const begun = performance.now()
const file = await writeObjects(join(folder, 'notes.ndjson'))
await run('import', file, '--table', 'notes', '--realm', 'rlm-public')
print('filled, s', (performance.now() - begun) / 1000)

const browser = await chromium.launch({
  executablePath: CHROMIUM,
  headless: true,
  args: ARGUMENTS,
})
undo.defer(() => browser.close())
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
page.setDefaultTimeout(100_000)
const { url } = JSON.parse(await run('admin', '--json')) as { readonly url: string }
await page.goto(url)
await page.locator('.sidebar').waitFor()
const processes = await browser.newBrowserCDPSession()
const cdp = await page.context().newCDPSession(page)
await cdp.send('Performance.enable')
print('memory before, MB', await memory())
const asked = performance.now()
await page.evaluate(`location.hash = '#/main/data/notes'`)
await page.getByRole('row').nth(20).waitFor()
print('first rows, ms', performance.now() - asked)
const before = await work()
const slow = await page.evaluate<Scrolled>(scrolling(seconds))
const after = await work()
print('frames', slow.frames)
print('work of a frame, µs', ((after - before) / slow.frames) * 1e6)
print('frames of more than 50 ms', slow.late)
print('99th percentile of frames, ms', slow.p99)
print('longest frame, ms', slow.longest)
print('longest task, ms', slow.longestTask)
print('frames with an empty view', slow.empty)
print('rows passed', slow.rows)
print('rows drawn', slow.drawn)
await cdp.send('HeapProfiler.collectGarbage')
const title = await page.locator('.page-title').last().textContent()
print('rows loaded', Number(/([\d,]+) of/.exec(title ?? '')?.[1]?.replaceAll(',', '')))
print('memory after, MB', await memory())

interface Scrolled {
  readonly frames: number
  readonly late: number
  readonly p99: number
  readonly longest: number
  readonly longestTask: number
  readonly empty: number
  readonly rows: number
  readonly drawn: number
}

/** Scrolls by half a view in each frame, as far as there are rows. */
function scrolling(duration: number): string {
  return `new Promise((resolve) => {
    const grid = document.querySelector('[role=grid]')
    const times = []
    let longestTask = 0
    let empty = 0
    const observer = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) longestTask = Math.max(longestTask, duration)
    })
    observer.observe({ entryTypes: ['longtask'] })
    const distance = grid.clientHeight / 2
    const begun = performance.now()
    let before = begun
    const step = (now) => {
      times.push(now - before)
      before = now
      if (grid.querySelectorAll('[role=row]').length < 10) empty += 1
      grid.scrollTop += distance
      if (now - begun < ${duration * 1000}) return requestAnimationFrame(step)
      times.sort((one, other) => one - other)
      const rows = [...grid.querySelectorAll('[role=row]')]
      resolve({
        frames: times.length,
        late: times.filter((time) => time > 50).length,
        p99: times[Math.floor(times.length * 0.99)],
        longest: times.at(-1),
        longestTask,
        empty,
        rows: Math.max(...rows.map((row) => Number(row.getAttribute('aria-rowindex')))),
        drawn: rows.length,
      })
    }
    requestAnimationFrame(step)
  })`
}

async function memory(): Promise<number> {
  const { metrics } = await cdp.send('Performance.getMetrics')
  return (metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? 0) / 1e6
}

/** The time that the processor has worked for the tab, s: a busy machine does not stretch it. */
async function work(): Promise<number> {
  const { processInfo } = await processes.send('SystemInfo.getProcessInfo')
  const tabs = processInfo.filter(({ type }) => type === 'renderer')
  return tabs.reduce((sum, { cpuTime }) => sum + cpuTime, 0)
}

async function writeObjects(path: string): Promise<string> {
  const stream = createWriteStream(path)
  for (let from = 0; from < objects; from += 10_000) {
    const lines = Array.from({ length: Math.min(10_000, objects - from) }, (_, at) => {
      const count = from + at
      const id = `note${String(count).padStart(7, '0')}`
      return `${JSON.stringify({ id, title: `Title ${count}`, count, done: count % 2 === 0 })}\n`
    })
    if (!stream.write(lines.join(''))) await once(stream, 'drain')
  }
  stream.end()
  await once(stream, 'close')
  return path
}

/** Runs a command to its end; returns its output. */
async function run(...command: string[]): Promise<string> {
  const child = Bun.spawn([EXECUTABLE, ...command, ...data], { stdout: 'pipe', stderr: 'inherit' })
  const text = await child.stdout.text()
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed`)
  return text
}

function print(name: string, value: number): void {
  process.stdout.write(`${name.padEnd(32)}${Math.round(value).toLocaleString().padStart(12)}\n`)
}
