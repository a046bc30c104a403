import { createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'
import { go } from './admin-page'
import { openWorkshop } from './executable'

/**
 * `bun test/browser/admin-million.ts [objects] [seconds]` fills a table of `dist/satchel` through the command line, by
 * default with 1,000,000 objects, scrolls it on the page for administrators for 60 seconds and back, ends a search, and
 * prints how long frames took, how long rows were awaited, and how much memory the tab has.
 */
/** The table, in the page. */
const GRID = `document.querySelector('[role=grid]')`
const [objects = 1_000_000, seconds = 60] = process.argv.slice(2).map(Number)

await using workshop = await openWorkshop()
await workshop.run('schema', 'push', await workshop.write('schema.json', { notes: '@id, count' }))
const begun = performance.now()
const file = await writeObjects(join(workshop.folder, 'notes.ndjson'))
await workshop.run('import', file, '--table', 'notes', '--realm', 'rlm-public')
print('filled, s', (performance.now() - begun) / 1000)

const page = await workshop.openAdmin({ viewport: { width: 1280, height: 800 } })
const processes = await workshop.browser.newBrowserCDPSession()
const cdp = await page.context().newCDPSession(page)
await cdp.send('Performance.enable')
print('memory before, MB', await memory())
// Loads its code.
await go(page, '#/main/data/members')
await page.getByText('No object is in this table').waitFor()
print('first rows, ms', await shownAfter(`location.hash = '#/main/data/notes'`))
const before = await work()
const slow = await page.evaluate<Scrolled>(scrolling(seconds))
const after = await work()
print('frames', slow.frames)
print('work of a frame, µs', ((after - before) / slow.frames) * 1e6)
print('frames of more than 50 ms', slow.late)
print('99th percentile of frames, ms', slow.p99)
print('longest frame, ms', slow.longest)
print('tasks of more than 50 ms', slow.longTasks)
print('longest task, ms', slow.longestTask)
print('frames with an empty view', slow.empty)
print('rows passed', slow.rows)
print('rows drawn', slow.drawn)
print('memory after, MB', await memory())
print('rows in the middle, ms', await shownAfter(`${GRID}.scrollTop = ${GRID}.scrollHeight / 2`))
print('rows at the top, ms', await shownAfter(`${GRID}.scrollTop = 0`))
print('memory at the top, MB', await memory())

await page.getByPlaceholder('Search').fill('a text that no object has')
await page.getByText(/Looked at [1-9]/).waitFor()
const searched = await serverWork()
const stopped = await page.evaluate<number>(`new Promise((resolve) => {
  const begun = performance.now()
  document.querySelector('.searching button').click()
  const look = () => {
    if (document.querySelector('.searching')) requestAnimationFrame(look)
    else resolve(performance.now() - begun)
  }
  look()
})`)
await Bun.sleep(3_000)
print('search stopped, ms', stopped)
print('work of the server after it, ms', (await serverWork()) - searched)

interface Scrolled {
  readonly frames: number
  readonly late: number
  readonly p99: number
  readonly longest: number
  readonly longTasks: number
  readonly longestTask: number
  readonly empty: number
  readonly rows: number
  readonly drawn: number
}

/** Scrolls by half a view in each frame, as far as there are rows. */
function scrolling(duration: number): string {
  return `new Promise((resolve) => {
    const grid = ${GRID}
    const times = []
    let longTasks = 0
    let longestTask = 0
    let empty = 0
    const observer = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) {
        longTasks += 1
        longestTask = Math.max(longestTask, duration)
      }
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
        longTasks,
        longestTask,
        empty,
        rows: Math.max(...rows.map((row) => Number(row.getAttribute('aria-rowindex')))),
        drawn: rows.length,
      })
    }
    requestAnimationFrame(step)
  })`
}

/** The heap of the tab without what is not used any more. */
async function memory(): Promise<number> {
  await cdp.send('HeapProfiler.collectGarbage')
  const { metrics } = await cdp.send('Performance.getMetrics')
  return (metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? 0) / 1e6
}

/** How long after a statement all rows in view are there. */
function shownAfter(statement: string): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve) => {
    const begun = performance.now()
    ${statement}
    const look = () => {
      const rows = ${GRID}?.querySelectorAll('[role=row]') ?? []
      if (rows.length > 20 && !${GRID}.querySelector('[aria-busy=true]')) resolve(performance.now() - begun)
      else requestAnimationFrame(look)
    }
    requestAnimationFrame(() => requestAnimationFrame(look))
  })`)
}

/** The time that the processor has worked for the server, ms. */
async function serverWork(): Promise<number> {
  const stat = await readFile(`/proc/${workshop.ready.pid}/stat`, 'utf8')
  const [user = 0, system = 0] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12).map(Number)
  return (user + system) * 10
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

function print(name: string, value: number): void {
  process.stdout.write(`${name.padEnd(32)}${Math.round(value).toLocaleString().padStart(12)}\n`)
}
