import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import type { TestSmtp } from '../mail/smtp-server'

const ROOT = join(import.meta.dir, '..', '..')

const ADDRESS = "'http://127.0.0.1:7080/main'"

/** The first page that a guide has its reader save, with this expression as the address of the database. */
export function pageOf(guide: string, databaseUrl: string): string {
  const [, rest = ''] = readFileSync(join(ROOT, guide), 'utf8').split('<!doctype html>')
  const [html = ''] = rest.split(/\n(?:HTML|```)\n/)
  if (!html.includes(ADDRESS)) throw new Error(`The page of ${guide} does not have ${ADDRESS}`)
  return `<!doctype html>${html}`.replace(ADDRESS, databaseUrl)
}

/** The first block of code of a guide behind all of these texts, each behind the one before. */
export function codeOf(guide: string, ...behind: readonly string[]): string {
  let rest = readFileSync(join(ROOT, guide), 'utf8')
  for (const text of behind) {
    const at = rest.indexOf(`\n${text}\n`)
    if (at === -1) throw new Error(`${guide} does not have ${text}`)
    rest = rest.slice(at + text.length + 1)
  }
  const [, code = ''] = /\n```\w*\n([\s\S]+?\n)```\n/.exec(rest) ?? []
  return code
}

/** The same as a script that awaits each of its statements. */
export function linesOf(guide: string, heading: string): string {
  return `(async () => { ${codeOf(guide, heading)} })()`
}

/** Types an address and the code of the mail into the dialogs of the add-on. */
export async function logIn(page: Page, smtp: TestSmtp, email: string): Promise<void> {
  await page.locator('input[name=email]').fill(email)
  await page.getByRole('button', { name: 'Submit' }).click()
  await page.locator('input[name=otp]').waitFor()
  const [, otp = ''] = /^ {4}(\S+)$/m.exec((await smtp.next()).text) ?? []
  await page.locator('input[name=otp]').fill(otp)
  await page.locator('input[name=otp]').waitFor({ state: 'detached' })
}

/** An application of one page at a loopback address. */
export function servePage(html: string): Disposable & { readonly url: string } {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: {
      '/*': () => new Response(html, { headers: { 'content-type': 'text/html' } }),
      '/published/*': ({ url }) =>
        new Response(Bun.file(publishedFile(url.split('/published')[1] ?? ''))),
    },
  })
  return { url: `http://localhost:${server.port}/`, [Symbol.dispose]: () => void server.stop(true) }
}

/** The page with the published files of packages from its own server, because the net may not be there. */
export function withOwnFiles(html: string): string {
  return html.replaceAll('https://unpkg.com/', '/published/')
}

/** The file for `/dexie@4.4.7/dist/dexie.min.js`. */
function publishedFile(path: string): string {
  const [, name = '', rest = ''] = /^\/([^@]+)@[\d.]+\/(.+)$/.exec(path) ?? []
  return join(ROOT, 'node_modules', name, rest)
}
