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
  requireChromium()
  const profile = temporaryFolder()
  const context = await chromium.launchPersistentContext(profile.path, {
    executablePath: CHROMIUM,
    headless: true,
    viewport: screen,
    args: ARGUMENTS,
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

/** Several devices in one browser. */
export interface Chromium extends AsyncDisposable {
  /** A device with storage of its own, and one open page. */
  openDevice(): Promise<{ readonly context: BrowserContext; readonly page: Page }>
}

export async function launchChromium(): Promise<Chromium> {
  requireChromium()
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    headless: true,
    args: ARGUMENTS,
  })
  return {
    async openDevice() {
      const context = await browser.newContext()
      return { context, page: await context.newPage() }
    },
    [Symbol.asyncDispose]: () => browser.close(),
  }
}

function requireChromium(): void {
  if (existsSync(CHROMIUM)) return
  throw new Error(
    `${CHROMIUM} is missing: set CHROMIUM, or run bun test/browser/install.ts as root`,
  )
}

const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
