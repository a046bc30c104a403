import { afterAll, beforeAll } from 'bun:test'
import { existsSync } from 'node:fs'
import process from 'node:process'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'

/** Debian's, where `install.ts` puts it, or another one. */
export const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

export interface Screen {
  readonly width: number
  readonly height: number
}

/** A device with storage of its own, and one open page. */
export interface Device extends AsyncDisposable {
  readonly context: BrowserContext
  readonly page: Page
}

/** The browser of a test file. */
export interface Chromium {
  openDevice(screen?: Screen): Promise<Device>
}

/** How long a page may take for anything on a busy machine. */
const PATIENCE_MS = 100_000

/**
 * A real browser, from before the first test of the file that calls this until after its last, with further words on
 * its command line.
 */
export function useChromium(...words: readonly string[]): Chromium {
  let browser: Browser
  beforeAll(async () => {
    requireChromium()
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      headless: true,
      args: [...ARGUMENTS, ...words],
    })
  })
  afterAll(() => browser.close())
  return {
    async openDevice(screen = { width: 1280, height: 800 }) {
      const context = await browser.newContext({ viewport: screen })
      context.setDefaultTimeout(PATIENCE_MS)
      const page = await context.newPage()
      return { context, page, [Symbol.asyncDispose]: () => context.close() }
    },
  }
}

function requireChromium(): void {
  if (existsSync(CHROMIUM)) return
  throw new Error(
    `${CHROMIUM} is missing: set CHROMIUM, or run bun test/browser/install.ts as root`,
  )
}

export const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
