import { join } from 'node:path'
import process from 'node:process'
import { go } from './admin-page'
import { openWorkshop } from './executable'

/**
 * `bun test/browser/admin-large.ts` opens objects of 10 and of 16 MB on the page for administrators of `dist/satchel`,
 * changes one of 150,000 values, and prints how long each takes and the longest task of the page, in the time of the processor: a busy machine does not stretch it.
 */
const MEGABYTE = 2 ** 20
const values = Array.from({ length: 150_000 }, (_, at) => `value ${at}`)
const objects = [
  { id: 'small' },
  { id: 'text', title: 'A text of 10 MB', text: 'x'.repeat(10 * MEGABYTE) },
  { id: 'values', title: '150,000 values', values },
  { id: 'both', title: '10 MB', values, text: 'x"\n'.repeat((8 * MEGABYTE) / 5) },
  { id: 'largest', title: '16 MB', text: 'x'.repeat(16 * MEGABYTE - 300) },
]

await using workshop = await openWorkshop()
await workshop.run('schema', 'push', await workshop.write('schema.json', { notes: 'id' }))
for (const object of objects) {
  const lines = await workshop.write(`${object.id}.ndjson`, object)
  await workshop.run('import', lines, '--table', 'notes', '--realm', 'rlm-public')
}
const page = await workshop.openAdmin({ viewport: { width: 1280, height: 800 } })
await go(page, '#/main/data/notes')
await page.getByRole('row').nth(objects.length).waitFor()
// Loads its code.
await go(page, '#/main/data/notes/small')
await page.locator('.tree').waitFor()
for (const { id, title } of objects.slice(1)) {
  await timed(`open: ${title}`, async () => {
    await go(page, `#/main/data/notes/${id}`)
    await page.locator('.tree').getByText(`${title}`, { exact: true }).waitFor()
  })
}
await go(page, '#/main/data/notes/values')
await page.locator('.tree').getByText('150,000 values', { exact: true }).waitFor()
await timed('begin to edit 150,000 values', async () => {
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByText('too much for an editor').waitFor()
})
const changed = values.with(70, 'one').with(140_000, 'other')
const file = join(workshop.folder, 'changed.json')
await Bun.write(
  file,
  JSON.stringify({ ...objects[2], values: changed, realmId: 'rlm-public' }, null, 2),
)
await timed('their difference', async () => {
  await page.getByLabel('The changed file').setInputFiles(file)
  await page.locator('.diff').getByText('"other"').waitFor()
})
await timed('save them', async () => {
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Saved').waitFor()
})

/** Prints how long the work takes, and how long the processor works at most for one task of the page, ms. */
async function timed(name: string, work: () => Promise<void>): Promise<void> {
  await workshop.browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline'] })
  const begun = performance.now()
  await work()
  const took = performance.now() - begun
  const { traceEvents } = JSON.parse((await workshop.browser.stopTracing()).toString()) as Trace
  const main = traceEvents.find((event) => event.name === 'UpdateLayoutTree')
  const tasks = traceEvents.filter(({ name: task, pid, tid }) => {
    return task.endsWith('RunTask') && pid === main?.pid && tid === main.tid
  })
  const longest = Math.max(...tasks.map(({ tdur = 0 }) => tdur / 1000))
  const numbers = [took, longest].map((ms) => `${Math.round(ms).toLocaleString().padStart(8)} ms`)
  process.stdout.write(`${name.padEnd(32)}${numbers.join(', longest task')}\n`)
}

interface Trace {
  readonly traceEvents: readonly {
    readonly name: string
    readonly pid: number
    readonly tid: number
    /** The time of the processor, µs. */
    readonly tdur?: number
  }[]
}
