import { existsSync } from 'node:fs'
import process from 'node:process'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import { temporaryFolder } from '../setup'

/** Debian's, where `install.ts` puts it, or another one. */
export const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

export interface Screen {
  readonly width: number
  readonly height: number
}

/** A real browser with a new profile and one open page. */
export interface Browser extends AsyncDisposable {
  readonly context: BrowserContext
  readonly page: Page
}

export async function openBrowser(screen: Screen = { width: 1280, height: 800 }): Promise<Browser> {
  if (!existsSync(CHROMIUM)) {
    throw new Error(
      `${CHROMIUM} is missing: set CHROMIUM, or run bun test/browser/install.ts as root`,
    )
  }
  const profile = temporaryFolder()
  const context = await chromium.launchPersistentContext(profile.path, {
    executablePath: CHROMIUM,
    headless: true,
    viewport: screen,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
  const page = context.pages()[0] ?? (await context.newPage())
  return {
    context,
    page,
    async [Symbol.asyncDispose]() {
      await context.close()
      profile[Symbol.dispose]()
    },
  }
}
