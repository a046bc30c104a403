import { expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { connectOpenId, setupLogins } from '../oauth/setup'
import { serveApplication } from './addon/application'
import { useChromium } from './chromium'

const browser = useChromium()

/** The published add-on and a provider with pages of its own (protocol.md §3.2, §3.3). */

const LOGGED_IN = 'alice@example.com with a key that stays here'

/** An application whose reader has chosen Google in the dialog of the add-on. */
async function setup() {
  await using undo = new AsyncDisposableStack()
  const server = undo.use(await setupLogins())
  await connectOpenId(server, { type: 'google' })
  const { url } = undo.use(await serveApplication(server.main))
  const { page } = undo.use(await browser.openDevice())
  const scene = { page, url, main: server.main }
  await page.goto(`${url}?list=groceries#items`)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('Continue with Google').click()
  const parts = undo.move()
  return { ...scene, server, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

async function signIn(page: Page, account: string): Promise<void> {
  await page.getByPlaceholder('Enter any login').fill(account)
  await page.getByPlaceholder('and password').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
}

test('a person logs in with a provider, is where they were and stays logged in', async () => {
  await using scene = await setup()
  const { page } = scene
  await signIn(page, 'alice')
  await page.getByText(LOGGED_IN).waitFor()
  await page.waitForURL(`${scene.url}?list=groceries#items`)
  await page.reload()
  await page.getByText(LOGGED_IN).waitFor()
  expect(page.url()).toBe(`${scene.url}?list=groceries#items`)
})

test('a person who turns back is told so', async () => {
  await using scene = await setup()
  await scene.page.getByRole('link', { name: /Cancel/ }).click()
  await scene.page.getByText('access_denied: the login was cancelled').waitFor()
  expect(await scene.page.getByText(LOGGED_IN).count()).toBe(0)
})

test('a person whose address the provider did not verify is told so', async () => {
  await using scene = await setup()
  await signIn(scene.page, 'mallory')
  await scene.page.getByText('The email address is not verified at Google').waitFor()
  expect(await scene.page.getByText(LOGGED_IN).count()).toBe(0)
})

test('a person whom the policy does not take is told so, and may log in another way', async () => {
  await using scene = await setup()
  const { page } = scene
  await scene.server.commands.run('policy.set', { database: 'main', newUsers: 'reject' })
  await signIn(page, 'alice')
  await page.getByText('You are not registered here').waitFor()
  expect(await page.getByText('Continue with Google').count()).toBe(1)
})
