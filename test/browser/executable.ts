import { join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { type Ready, satchel, serve } from '../binary/setup'
import { temporaryFolder } from '../setup'
import { ARGUMENTS, CHROMIUM } from './chromium'

/** `dist/satchel` at work on a folder of its own, and a browser, for scripts that look at the page for administrators. */
export interface Workshop extends AsyncDisposable {
  readonly ready: Ready
  readonly browser: Browser
  /** For files of the script. */
  readonly folder: string
  /** Runs a command to its end; returns its output. */
  readonly run: (...command: string[]) => Promise<string>
  /** Writes a file of JSON into the folder; returns its path. */
  readonly write: (name: string, value: unknown) => Promise<string>
  /** Opens the page by a new link, logged in. */
  readonly openAdmin: (options: Parameters<Browser['newPage']>[0]) => Promise<Page>
}

export async function openWorkshop(): Promise<Workshop> {
  await using undo = new AsyncDisposableStack()
  const folder = undo.use(temporaryFolder()).path
  const data = ['--data', join(folder, 'data')]
  const { ready } = undo.use(await serve({ cwd: folder }, data))
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    headless: true,
    args: ARGUMENTS,
  })
  undo.defer(() => browser.close())

  async function run(...command: string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await satchel([...command, ...data], { cwd: folder })
    if (exitCode !== 0) throw new Error(`${command.join(' ')} failed: ${stderr}`)
    return stdout
  }

  const parts = undo.move()
  return {
    ready,
    browser,
    folder,
    run,
    async write(name, value) {
      const path = join(folder, name)
      await Bun.write(path, JSON.stringify(value))
      return path
    },
    async openAdmin(options) {
      const page = await browser.newPage(options)
      page.setDefaultTimeout(100_000)
      const { url } = JSON.parse(await run('admin', '--json')) as { readonly url: string }
      await page.goto(url)
      await page.locator('.sidebar').waitFor()
      return page
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}
