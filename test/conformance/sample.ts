import { cp, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import process from 'node:process'
import { chromium, type Page } from 'playwright-core'
import { satchel, serve } from '../binary/setup'
import { ARGUMENTS, CHROMIUM } from '../browser/chromium'
import { temporaryFolder } from '../setup'

/**
 * `bun test/conformance/sample.ts <folder>`: drives the todo sample of Dexie Cloud, unmodified, in Chromium
 * with two users. `folder` has the sample: it is copied, installed and built elsewhere. Needs `bun build.ts`
 * and a registry of npm packages; ends with 1 when a step fails.
 */

const ALICE = 'alice@demo.local'
const BOB = 'bob@demo.local'
/** How long a page may take for anything, ms. */
const PATIENCE_MS = 30_000

const [given] = process.argv.slice(2)
if (given === undefined) {
  process.stderr.write('Usage: bun test/conformance/sample.ts <folder of dexie-cloud-todo-app>\n')
  process.exit(2)
}
await drive(resolve(given))

async function drive(sample: string): Promise<void> {
  await using undo = new AsyncDisposableStack()
  const folder = undo.use(temporaryFolder())
  const surroundings = { cwd: folder.path }
  const server = undo.use(await serve(surroundings))
  const database = `${server.ready.url}/main`
  const copy = join(folder.path, 'sample')
  await step('install and build', async () => {
    await cp(sample, copy, {
      recursive: true,
      filter: (path) => !path.includes('node_modules'),
    })
    // The lock file names versions that registries may lack: those of package.json count.
    await rm(join(copy, 'package-lock.json'), { force: true })
    await run(copy, ['install'])
    await run(copy, ['run', 'build'], { VITE_DBURL: database })
  })
  await step('import its users and roles', async () => {
    for (const file of ['demoUsers.json', 'roles.json']) {
      const { exitCode, stderr } = await satchel(
        ['import', join(copy, 'src', 'data', file)],
        surroundings,
      )
      if (exitCode !== 0) throw new Error(stderr)
    }
  })
  using application = serveFolder(join(copy, 'build'))
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    headless: true,
    args: ARGUMENTS,
  })
  undo.defer(() => browser.close())
  const open = async (user: string) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 1000 } })
    context.setDefaultTimeout(PATIENCE_MS)
    const page = await context.newPage()
    await page.goto(application.url)
    await page.getByText('Sign in or create account').first().click()
    await page.getByText(user, { exact: true }).click()
    await page.getByText('Sign in or create account').first().waitFor({ state: 'hidden' })
    return page
  }
  const alice = await step('log in', () => open(ALICE))
  const bob = await open(BOB)
  await step('add a list and items', async () => {
    await alice.getByText('Create ToDo List').click()
    await alice.getByPlaceholder('Name of list...').fill('Groceries')
    await alice.getByRole('button', { name: 'Create List' }).click()
    await addItem(alice, 'Milk')
    await addItem(alice, 'Bread')
  })
  await step('share and invite', () => invite(alice))
  await step('accept', () => accept(bob, ['Milk', 'Bread']))
  await step('tick off', async () => {
    await itemOf(bob, 'Milk').locator('label').click()
    await itemOf(alice, 'Milk').locator('input:checked').waitFor({ state: 'attached' })
  })
  await step('add on the other side', async () => {
    await addItem(bob, 'Coffee')
    await itemOf(alice, 'Coffee').waitFor()
  })
  await step('make private', async () => {
    await memberOf(alice, BOB).getByRole('button').last().click()
    await bob.getByText('Groceries', { exact: true }).waitFor({ state: 'hidden' })
    await memberOf(alice, ALICE).waitFor({ state: 'hidden' })
    for (const item of ['Milk', 'Bread', 'Coffee']) await itemOf(alice, item).waitFor()
  })
  await step('share again and accept', async () => {
    await alice.getByRole('button', { name: 'Invite', exact: true }).first().click()
    await accept(bob, ['Milk', 'Bread', 'Coffee'])
  })
  await step('leave', async () => {
    await bob.getByTitle('Share list').click()
    await bob.getByRole('button', { name: 'Leave' }).click()
    await bob.getByText('Groceries', { exact: true }).waitFor({ state: 'hidden' })
    await memberOf(alice, BOB).waitFor({ state: 'hidden' })
    for (const item of ['Milk', 'Bread', 'Coffee']) await itemOf(alice, item).waitFor()
  })
}

async function addItem(page: Page, title: string): Promise<void> {
  const input = page.getByPlaceholder('Add todo item ...')
  await input.fill(title)
  await input.press('Enter')
  await itemOf(page, title).waitFor()
}

function itemOf(page: Page, title: string) {
  return page.locator('div.group').filter({ has: page.getByText(title, { exact: true }) })
}

/** A row of the people with whom the list is shared. */
function memberOf(page: Page, name: string) {
  return page
    .locator('div.justify-between')
    .filter({ has: page.locator('span.font-medium').filter({ hasText: name }) })
    .last()
}

async function invite(page: Page): Promise<void> {
  await page.getByTitle('Share list').click()
  const row = page
    .locator('div.justify-between')
    .filter({ has: page.getByText(BOB, { exact: true }) })
  await row.last().getByRole('button', { name: 'Invite', exact: true }).click()
}

/** Accepts the invitation and waits for the items of the list. */
async function accept(page: Page, items: readonly string[]): Promise<void> {
  await page.getByRole('button', { name: 'Accept', exact: true }).click()
  await page.getByText('Groceries', { exact: true }).waitFor()
  for (const item of items) await itemOf(page, item).waitFor()
}

async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  const begun = performance.now()
  try {
    const result = await work()
    process.stdout.write(`ok   ${name} (${Math.round(performance.now() - begun)} ms)\n`)
    return result
  } catch (error) {
    process.stdout.write(`FAIL ${name}\n`)
    throw error
  }
}

async function run(
  cwd: string,
  command: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  const child = Bun.spawn([process.execPath, ...command], {
    cwd,
    env: { ...process.env, ...environment },
    stdout: 'ignore',
    stderr: 'pipe',
  })
  const [exitCode, stderr] = await Promise.all([child.exited, child.stderr.text()])
  if (exitCode !== 0) throw new Error(`bun ${command.join(' ')} failed: ${stderr}`)
}

function serveFolder(folder: string): Disposable & { readonly url: string } {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      const file = Bun.file(join(folder, pathname === '/' ? 'index.html' : pathname))
      return (await file.exists()) ? new Response(file) : new Response(null, { status: 404 })
    },
  })
  return {
    url: `http://localhost:${server.port}/`,
    [Symbol.dispose]: () => void server.stop(true),
  }
}
