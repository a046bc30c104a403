import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connectOpenId, setupLogins } from '../oauth/setup'
import { openBrowser } from './chromium'

const README = readFileSync(join(import.meta.dir, '..', '..', 'README.md'), 'utf8')

/** The page that the README has its reader write. */
function pageOfReadme(database: string): string {
  const [, html = ''] = /cat > login\.html <<'HTML'\n([\s\S]*?)\nHTML\n/.exec(README) ?? []
  expect(html).toContain("'http://127.0.0.1:7080/main'")
  return html.replace('http://127.0.0.1:7080/main', database)
}

test('the page of the README logs a person in and shows their tokens', async () => {
  await using server = await setupLogins()
  await connectOpenId(server, { type: 'google' })
  const html = pageOfReadme(server.main)
  using application = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(html, { headers: { 'content-type': 'text/html' } }),
  })
  await using browser = await openBrowser()
  const { page } = browser
  const address = `http://localhost:${application.port}/login.html`
  await page.goto(address)
  await page.getByRole('link', { name: 'Log in with Google' }).click()
  await page.getByPlaceholder('Enter any login').fill('alice')
  await page.getByPlaceholder('and password').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByText('"sub": "alice@example.com"').waitFor()
  expect(page.url()).toBe(address)
})
