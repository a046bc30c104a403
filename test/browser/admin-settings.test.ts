import axe from 'axe-core'
import { expect, test } from 'bun:test'
import { DAY, MINUTE } from '../../src/domain/value/time'
import { startHook, verdict } from '../auth/webhook-setup'
import { setupAdmin } from '../http/admin/setup'
import { until } from '../timing'
import { go, logInAgain, openAdmin } from './admin-page'
import { useChromium } from './chromium'

/** The settings of a database in the page for administrators, changed as a person does. */

const MAIN = { database: 'main' }

const browser = useChromium()

test('before a secret the page asks for a fresh login, with the command for this folder', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands, '#/main/database')
  const clients = page.locator('section', { has: page.getByRole('heading', { name: 'Clients' }) })
  server.clock.advance(11 * MINUTE)
  await clients.getByRole('button', { name: 'Add' }).click()
  const adding = page.getByRole('dialog', { name: 'Add a client' })
  await adding.getByLabel('Name').fill('Backend')
  await adding.getByRole('button', { name: 'Add', exact: true }).click()
  const question = page.getByRole('dialog', { name: 'Confirm that it is you' })
  await question.getByText(`satchel admin --confirm --data ${server.folder}`).waitFor()
  const { url } = await server.commands.run('session.link', { confirmation: true })
  await question.getByLabel('Paste it here').fill(url)
  await question.getByRole('button', { name: 'Go on' }).click()
  await page.getByRole('dialog', { name: 'A new client' }).waitFor()
  expect(faults).toEqual([])
})

test('a login provider is added with its secret, and removed', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/database')
  const box = page.locator('section.box', { hasText: 'Login providers' })
  const dialog = page.getByRole('dialog')
  await box.getByRole('button', { name: 'Add' }).click()
  await dialog.getByLabel('Type').selectOption('github')
  await dialog.getByLabel('Client id at the provider').fill('todo')
  await dialog.getByRole('button', { name: 'Add' }).click()
  await dialog.getByRole('alert').getByText('secret').waitFor()
  await dialog.getByLabel('Client secret').fill('s3cret')
  await dialog.getByLabel('Text of its button').fill('<b>GitHub</b>')
  await dialog.getByText('More', { exact: true }).click()
  await dialog.getByLabel('Scopes to request').fill('read:user, user:email')
  await dialog.getByLabel('Picture for its button').fill('icon.svg')
  await dialog.getByLabel('Accept its e-mail addresses').check()
  await dialog.getByRole('button', { name: 'Add' }).click()
  await dialog.getByRole('alert').getByText('the icon must be an https address').waitFor()
  await dialog.getByLabel('Picture for its button').fill('https://example.com/icon.svg')
  await dialog.getByRole('button', { name: 'Add' }).click()
  await box.getByText('<b>GitHub</b>').waitFor()
  expect(await commands.run('provider.list', MAIN)).toMatchObject([
    {
      name: 'github',
      clientId: 'todo',
      hasSecret: true,
      scopes: ['read:user', 'user:email'],
      iconUrl: 'https://example.com/icon.svg',
      options: { trustsEmail: true },
    },
  ])
  await box.getByRole('button', { name: 'Remove github' }).click()
  await dialog.getByRole('button', { name: 'Remove the login provider' }).click()
  await box.getByText('None: people log in').waitFor()
  expect(await commands.run('provider.list', MAIN)).toEqual([])
  expect(faults).toEqual([])
})

test('a mail template is changed, a mistake is refused, and the built-in one comes back', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/database')
  const box = page.locator('section.box', { hasText: 'Mail templates' })
  const dialog = page.getByRole('dialog')
  const show = () => commands.run('template.show', { ...MAIN, name: 'otp-subject' })
  const builtIn = await show()
  await box.getByRole('button', { name: 'Change otp-subject' }).click()
  await dialog.getByLabel('Handlebars').fill('{{#if')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').first().waitFor()
  await dialog.getByLabel('Handlebars').fill('Your code: {{{otp}}}')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await box.getByText('own', { exact: true }).waitFor()
  expect(await show()).toMatchObject({ content: 'Your code: {{{otp}}}', isOwn: true })
  await box.getByRole('button', { name: 'Return to the built-in otp-subject' }).click()
  await dialog.getByRole('button', { name: 'Return to the built-in template' }).click()
  await box.getByText('own', { exact: true }).waitFor({ state: 'detached' })
  expect(await show()).toEqual(builtIn)
  expect(faults).toEqual([])
})

test('the mail that a template makes is beside it while it is typed, its HTML without scripts', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands, '#/main/database')
  const box = page.locator('section.box', { hasText: 'Mail templates' })
  const dialog = page.getByRole('dialog')
  const preview = dialog.getByRole('region', { name: 'Preview' })
  await box.getByRole('button', { name: 'Change invite-subject' }).click()
  await preview.getByText('Satchel invites you to a test list').waitFor()
  await dialog.getByLabel('Handlebars').fill('Join <b>{{{realmName}}}</b>')
  await preview.getByText('Join <b>a test list</b>').waitFor()
  await dialog.getByLabel('Handlebars').fill('{{otp}}')
  await preview.getByRole('alert').getByText('it has no variable {{otp}}').waitFor()
  await dialog.getByLabel('Handlebars').fill('Join {{{realmName}}}')
  await preview.getByRole('alert').waitFor({ state: 'detached' })
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })

  await box.getByRole('button', { name: 'Change otp-body-html' }).click()
  const frame = preview.frameLocator('iframe')
  await frame.getByText('ABCD1234').first().waitFor()
  const content = '<h1>{{otp}}</h1><script>document.body.append("ran")</script>'
  await dialog.getByLabel('Handlebars').fill(content)
  await frame.getByRole('heading', { name: 'ABCD1234' }).waitFor()
  expect(await frame.locator('body').textContent()).not.toEndWith('ran')
  await page.evaluate(axe.source)
  const found = await page.evaluate<{ id: string }[]>(
    `axe.run('dialog', { iframes: false }).then(({ violations }) => violations)`,
  )
  expect(found.map(({ id }) => id)).toEqual([])
  await preview.getByRole('button', { name: 'Text' }).click()
  await preview.getByText('within 10 minutes').waitFor()
  expect(faults.filter((fault) => !fault.includes('/admin/mail/'))).toEqual([])
})

test('a test mail of each kind is sent to an address', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands, '#/main/database')
  const box = page.locator('section.box', { hasText: 'Sending mails' })
  for (const [kind, subject] of [
    ['a login code', 'ABCD1234 is your code for main'],
    ['an invitation', 'Satchel invites you to a test list'],
  ] as const) {
    await box.getByLabel('Address').fill('ann@example.com')
    await box.getByLabel('Kind of mail').selectOption(kind)
    await box.getByRole('button', { name: 'Send a test mail' }).click()
    await until(async () => {
      const { mails } = await server.commands.run('mail.list', MAIN)
      return mails.some((mail) => mail.subject === subject)
    })
  }
  await box.getByText('It was sent.').waitFor()
  expect(faults).toEqual([])
})

test('a setting that others have changed meanwhile stays when another one is saved', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/database')
  const box = page.locator('section.box', { hasText: 'New users' })
  await box.getByLabel('Days of an evaluation').fill('9')
  await commands.run('policy.set', { ...MAIN, newUsers: 'reject', seats: 5 })
  await box.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The policy was changed').waitFor()
  expect(await commands.run('policy.show', MAIN)).toMatchObject({
    newUsers: 'reject',
    seats: 5,
    evalDays: 9,
  })

  const templates = page.locator('section.box', { hasText: 'Mail templates' })
  const dialog = page.getByRole('dialog')
  await templates.getByRole('button', { name: 'Change otp-subject' }).click()
  await dialog.getByLabel('Handlebars').fill('Mine: {{{otp}}}')
  const upload = new Blob(['Theirs: {{{otp}}}']).stream()
  await commands.run('template.set', { ...MAIN, name: 'otp-subject' }, { upload })
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').getByText('Somebody else').waitFor()
  const shown = await commands.run('template.show', { ...MAIN, name: 'otp-subject' })
  expect(shown.content).toBe('Theirs: {{{otp}}}')
  await page.keyboard.press('Escape')
  await templates.getByText('own', { exact: true }).waitFor()
  await templates.getByRole('button', { name: 'Change otp-subject' }).click()
  expect(await dialog.getByLabel('Handlebars').inputValue()).toBe('Theirs: {{{otp}}}')
  await dialog.getByLabel('Handlebars').fill('Ours: {{{otp}}}')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The template otp-subject was saved').waitFor()
  expect(faults).toEqual([])
})

test('a client is replaced by a new one, and works for some days more', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  const old = await commands.run('client.create', { ...MAIN, scopes: ['ACCESS_DB'], name: 'Shop' })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/database')
  const box = page.locator('section.box', { hasText: 'Clients' })
  const dialog = page.getByRole('dialog')
  await box.getByRole('button', { name: 'Replace Shop' }).click()
  await dialog.getByLabel('Days for which the old one works').fill('2')
  await dialog.getByRole('button', { name: 'Replace', exact: true }).click()
  await dialog.getByText('Keep it now').waitFor()
  const clients = await commands.run('client.list', MAIN)
  const named = clients.filter(({ name }) => name === 'Shop')
  const made = named.find(({ id }) => id !== old.clientId)
  expect(made).toMatchObject({ expires: null, scopes: ['ACCESS_DB'] })
  const expires = server.clock.now() + 2 * DAY
  expect(named.find(({ id }) => id === old.clientId)).toMatchObject({ expires })
  expect(await dialog.textContent()).toContain(made?.id ?? 'none')
  expect(faults).toEqual([])
})

test('the web hook is asked about a person, of whom no user is made', async () => {
  await using server = await setupAdmin({ allowPrivateAddresses: '127.0.0.0/8' })
  const { commands } = server
  using hook = startHook(() => verdict('reject'))
  await commands.run('policy.set', { ...MAIN, newUsers: 'webhook', hookUrl: hook.url })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/database')
  const box = page.locator('section.box', { hasText: 'New users' })
  await box.getByLabel('Address to try the web hook with').fill('ann@example.com')
  await page.keyboard.press('Enter')
  const verdictText = box.getByText('the person would be rejected')
  await verdictText.waitFor()
  expect(hook.questions).toHaveLength(1)
  await box.getByLabel('Address to try the web hook with').fill('bob')
  await verdictText.waitFor({ state: 'detached' })
  await box.getByLabel('Seats').fill('5')
  await box.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The policy was changed').waitFor()
  expect(await commands.run('policy.show', MAIN)).toMatchObject({ seats: 5 })
  const { data } = await commands.run('user.list', { ...MAIN, query: '' })
  expect(data).toEqual([])
  expect(faults).toEqual([])
})

test('the limits of files are set, and return to those of the server', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/files')
  const dialog = page.getByRole('dialog')
  const own = async () => (await commands.run('blob.quota', MAIN)).own
  const save = async () => {
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
  }
  await page.getByRole('button', { name: 'Limits' }).click()
  const total = dialog.getByLabel('All files together')
  for (const text of ['1.2.3', '.']) {
    await total.fill(text)
    expect(await total.evaluate((field) => field.matches(':invalid'))).toBe(true)
  }
  await total.fill('2.5')
  await dialog.getByLabel('The files that one user sends').fill('none')
  await save()
  await page.getByText('0 files, 0 B of 2.5 MB').waitFor()
  expect(await own()).toEqual({ database: 2_500_000, user: null })
  await page.getByRole('button', { name: 'Limits' }).click()
  expect(await dialog.getByLabel('The files that one user sends').inputValue()).toBe('none')
  await dialog.getByLabel('All files together').fill('')
  await save()
  expect(await own()).toEqual({ user: null })
  expect(faults).toEqual([])
})

test('the size of all files follows when unreferenced ones are removed, and says why it is not known', async () => {
  await using server = await setupAdmin()
  const { commands, main } = server
  const authorization = `Bearer ${await server.token({ sub: 'ann@example.com', scopes: ['ACCESS_DB'] })}`
  const path = `${main}/blob/${'x'.repeat(24)}`
  const stored = await fetch(path, { method: 'PUT', headers: { authorization }, body: 'file' })
  if (!stored.ok) throw new Error(await stored.text())
  server.clock.advance(60 * DAY)
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/files')
  await page.getByText('1 files, 4 B').waitFor()
  await page.getByRole('button', { name: 'Remove unreferenced files' }).click()
  await page.getByText('0 files, 0 B').waitFor()

  const json = { code: 'NOT_AUTHORIZED', message: 'The limits are a secret' }
  await page.route('**/admin/api/blob.quota', (route) => route.fulfill({ status: 403, json }))
  await page.getByRole('button', { name: 'Remove unreferenced files' }).click()
  await page.getByRole('alert').getByText('The limits are a secret').waitFor()
  expect(faults).toEqual([])
})

test('the size of all files is there after the login of an ended session', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, server.commands)
  await server.commands.run('session.revoke', {})
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
  await go(page, '#/main/files')
  await page.getByRole('heading', { name: 'Files' }).waitFor()
  await logInAgain(page, server.commands)
  await page.getByText('0 files, 0 B').waitFor()
  expect(faults).toEqual([])
})
