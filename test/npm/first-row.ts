import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { version as current } from '../../package.json'
import { type Browser, chromium, type Page } from 'playwright-core'
import { CHROMIUM } from '../browser/chromium'
import { pageOf, servePage, withOwnFiles } from '../browser/guide-page'
import { temporaryFolder } from '../setup'

/**
 * `bun test/npm/first-row.ts` follows the steps of a new user with the package that `bun run package`
 * has made: `npx satchel serve` in an empty folder, and the application of the README
 * in two browsers, until an item from one is in the other. Prints how long each part took.
 */

const PACKAGE = join(import.meta.dir, '..', '..', 'dist', 'npm', `satchel-${current}.tgz`)

async function main(): Promise<void> {
  using folder = temporaryFolder()
  const project = join(folder.path, 'project')
  mkdirSync(project)
  if (!existsSync(PACKAGE)) {
    process.stderr.write('There is no package in dist/npm: run bun run package first\n')
    process.exitCode = 1
    return
  }
  const tell = createTeller(performance.now())

  // Without what npm has kept from other runs.
  const env = { ...process.env, npm_config_cache: join(folder.path, 'cache') }
  const given = ['--package', PACKAGE]
  const server = Bun.spawn(['npx', '--yes', ...given, 'satchel', 'serve', '--port', '0'], {
    cwd: project,
    env,
    stdout: 'pipe',
    stderr: 'pipe',
    detached: true,
  })
  try {
    const log = readLines(server.stderr)
    const url = await readLines(server.stdout).find(/(http:\/\/127\.0\.0\.1:\d+)\/main/)
    tell('npx satchel serve in an empty folder, until it is ready')
    using application = servePage(withOwnFiles(pageOf('README.md', `'${url}/main'`)))
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
    tell('start of the browser')
    const one = await logIn(browser, application.url, log)
    const other = await logIn(browser, application.url, log)
    tell('both logged in, with codes from the log')
    await one.getByPlaceholder('Add an item').fill('Milk')
    await one.keyboard.press('Enter')
    await other.getByText('Milk').waitFor()
    tell('the first row in the other browser')
    await browser.close()
  } finally {
    // As Ctrl-C does: npx passes no signal on.
    process.kill(-server.pid, 'SIGINT')
    await server.exited
  }
}

function createTeller(begun: number): (part: string) => void {
  let last = begun
  return (part) => {
    const now = performance.now()
    process.stdout.write(`${((now - last) / 1000).toFixed(2).padStart(7)} s  ${part}\n`)
    last = now
  }
}

interface Lines {
  /** The first group of the next match. */
  find(pattern: RegExp): Promise<string>
}

function readLines(stream: ReadableStream<Uint8Array>): Lines {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return {
    async find(pattern) {
      for (;;) {
        const found = pattern.exec(text)
        if (found !== null) {
          text = text.slice(found.index + found[0].length)
          return found[1] ?? ''
        }
        const { value, done } = await reader.read()
        if (done) throw new Error(`The server ended without ${String(pattern)}:\n${text}`)
        text += value
      }
    },
  }
}

async function logIn(browser: Browser, application: string, log: Lines): Promise<Page> {
  const page = await (await browser.newContext()).newPage()
  await page.goto(application)
  await page.locator('input[name=email]').fill('alice@example.com')
  await page.getByRole('button', { name: 'Submit' }).click()
  await page.locator('input[name=otp]').waitFor()
  await page.locator('input[name=otp]').fill(await log.find(/"otp":"([^"]+)"/))
  await page.locator('input[name=otp]').waitFor({ state: 'detached' })
  return page
}

await main()
