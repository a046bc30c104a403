import type { Locator, Page } from 'playwright-core'
import type { Session } from '../../src/control/session'
import type { setupAdmin } from '../http/admin/setup'

/** The faults that a browser tells of a page, and what its policy has blocked. */
export interface Watched {
  readonly faults: readonly string[]
}

/** Opens the page for administrators with a new link, logged in. */
export async function openAdmin(
  page: Page,
  commands: Session,
  hash = '#/main/live',
): Promise<Watched> {
  const watched = watch(page)
  await logIn(page, commands)
  await go(page, hash)
  return watched
}

export async function logIn(page: Page, commands: Session): Promise<void> {
  const { url } = await commands.run('session.link', {})
  await page.goto(url)
  await page.locator('.sidebar').waitFor()
}

/** Pastes a new link into the dialog of a session that has ended. */
export async function logInAgain(page: Page, commands: Session): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Your session has ended' })
  const { url } = await commands.run('session.link', {})
  await dialog.getByLabel('Paste it here').fill(url)
  await dialog.getByRole('button', { name: 'Log in' }).click()
  await dialog.waitFor({ state: 'detached' })
}

/** Goes to a page by its address, as a click on a link does. */
export async function go(page: Page, hash: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
}

/** The editor of an object. */
export function editorOf(page: Page): Locator {
  return page.getByRole('textbox', { name: 'The object as JSON' })
}

/** The text in it, of which lines out of view are not drawn. */
export async function editorText(page: Page): Promise<string> {
  await editorOf(page).waitFor()
  return (await editorOf(page).locator('.cm-line').allTextContents()).join('\n')
}

export function watch(page: Page): Watched {
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('dialog', (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    if (/Content.Security.Policy|TrustedHTML|Trusted Type/i.test(message.text())) {
      faults.push(message.text())
    }
  })
  return { faults }
}

/** Declares the table `notes`; returns the way to store an object of it. */
export async function notesOf({
  commands,
  main,
  ...server
}: Awaited<ReturnType<typeof setupAdmin>>) {
  const upload = new Blob(['{"notes":"@id"}']).stream()
  await commands.run('schema.push', { database: 'main', wait: true }, { upload })
  const headers = {
    authorization: `Bearer ${await server.token()}`,
    'content-type': 'application/json',
  }
  return async (object: object, table = 'notes') => {
    const body = JSON.stringify({ realmId: 'rlm-public', ...object })
    const answer = await fetch(`${main}/all/${table}`, { method: 'POST', headers, body })
    if (!answer.ok) throw new Error((await answer.text()).slice(0, 500))
  }
}

/** A page with more text than this is slow to lay out, characters. */
export const MOST_TEXT = 300_000

/** How much text the page has, characters. */
export async function textOf(page: Page): Promise<number> {
  return await page.evaluate<number>('document.body.textContent.length')
}
