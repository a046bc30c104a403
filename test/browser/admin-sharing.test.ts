import { expect, test } from 'bun:test'
import { setupAdmin } from '../http/admin/setup'
import { go, openAdmin } from './admin-page'
import { useChromium } from './chromium'

/** Realms, members and roles in the page for administrators, changed as a person does. */

const MAIN = { database: 'main' }

const browser = useChromium()

test('a realm is added, given a role and a member, changed and removed', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  const bob = JSON.stringify({ userId: 'bob@example.com', type: 'prod' })
  await commands.run('user.write', { ...MAIN, user: bob, isNew: true })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/sharing')
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const dialog = page.getByRole('dialog')

  await press('Realm')
  await dialog.getByLabel('Name').fill('<b>List</b>')
  await dialog.getByRole('button', { name: 'Add' }).click()
  const panel = page.locator('aside.panel, .panel').first()
  await panel.getByRole('heading', { name: '<b>List</b>' }).waitFor()

  const adds = panel.getByRole('button', { name: 'Add', exact: true })
  await adds.nth(1).click()
  await dialog.getByLabel('Name').fill('editor')
  await dialog.getByLabel('Permissions as JSON').fill('{"manage": 7}')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').getByText('permissions').waitFor()
  await dialog.getByLabel('Permissions as JSON').fill('{"update": "*",')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').getByText('Line 1, column 16: a name').waitFor()
  await dialog.getByLabel('Permissions as JSON').fill('{"update": "*"}')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await panel.getByText('update everything').waitFor()

  await adds.nth(0).click()
  await dialog.getByLabel('Add a user at once').check()
  await dialog.getByLabel('User', { exact: true }).fill('bob@example.com')
  await dialog.getByLabel('editor').check()
  await dialog.getByRole('button', { name: 'Add' }).click()
  await panel.getByText('accepted').waitFor()
  await press('Remove bob@example.com')
  await dialog.getByText('bob@example.com cannot be brought back').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()

  await press('Change the realm')
  await dialog.getByLabel('Owner').fill('bob@example.com')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await panel.getByRole('definition').getByText('bob@example.com').waitFor()

  const { realms } = await commands.run('realm.list', MAIN)
  expect(realms).toMatchObject([{ name: '<b>List</b>', owner: 'bob@example.com' }])
  const { realm = '' } = realms[0] ?? {}
  const { members } = await commands.run('member.list', { ...MAIN, user: 'bob@example.com' })
  expect(members.find(({ isOwner }) => !isOwner)).toMatchObject({ roles: ['editor'] })
  await press('Delete')
  await dialog.getByLabel('Type its name').fill(realm)
  await dialog.getByRole('button', { name: 'Delete the realm' }).click()
  await page.getByText('Nothing is shared yet').waitFor()
  expect((await commands.run('realm.list', MAIN)).realms).toEqual([])
  expect(faults).toEqual([])
})

test('a user is made a member of a realm from their own page', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  const bob = JSON.stringify({ userId: 'bob@example.com', type: 'prod' })
  await commands.run('user.write', { ...MAIN, user: bob, isNew: true })
  await commands.run('realm.add', { ...MAIN, realm: 'rlmA', name: 'Shopping' })
  const permissions = { update: '*' }
  await commands.run('role.put', { ...MAIN, realm: 'rlmA', name: 'editor', permissions })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/people/bob@example.com')
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Add to a realm' }).click()
  await dialog.getByRole('combobox').selectOption('rlmA')
  await dialog.getByLabel('editor').check()
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await page.locator('.panel').getByRole('link', { name: 'Shopping' }).waitFor()
  const { members } = await commands.run('member.list', { ...MAIN, user: 'bob@example.com' })
  expect(members).toMatchObject([{ realmId: 'rlmA', state: 'accepted', roles: ['editor'] }])
  // One who is a member already is refused, and nothing changes.
  await page.getByRole('button', { name: 'Add to a realm' }).click()
  await dialog.getByRole('combobox').selectOption('rlmA')
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await dialog.getByRole('alert').waitFor()
  expect(faults).toEqual([])
})

test('a realm that is not on the first page of them is found by its name, and all roles can be chosen', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  const bob = JSON.stringify({ userId: 'bob@example.com', type: 'prod' })
  await commands.run('user.write', { ...MAIN, user: bob, isNew: true })
  await commands.run('realm.add', { ...MAIN, realm: 'rlmA', name: 'Shopping' })
  const headers = {
    authorization: `Bearer ${await server.token()}`,
    'content-type': 'application/json',
  }
  const put = async (table: string, objectOf: (at: number) => object) => {
    const body = JSON.stringify(Array.from({ length: 201 }, (_, at) => objectOf(at)))
    const answer = await fetch(`${server.main}/all/${table}`, { method: 'POST', headers, body })
    if (!answer.ok) throw new Error(await answer.text())
  }
  await put('realms', (at) => ({ realmId: `rlm${at}`, name: `Realm ${at}` }))
  await put('roles', (at) => ({ realmId: 'rlmA', name: `role${at}`, permissions: {} }))
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/people/bob@example.com')
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Add to a realm' }).click()
  const find = dialog.getByLabel('Find a realm')
  await find.fill('shop')
  await dialog.locator('option', { hasText: 'Shopping' }).waitFor({ state: 'attached' })
  await dialog.getByRole('combobox').selectOption('rlmA')
  await find.fill('nothing of this name')
  await dialog.getByText('No realm matches').waitFor()
  await dialog.getByRole('button', { name: 'More roles' }).click()
  await dialog.getByRole('button', { name: 'More roles' }).waitFor({ state: 'detached' })
  await dialog.getByLabel('role0', { exact: true }).check()
  await dialog.getByLabel('role200', { exact: true }).check()
  await dialog.getByLabel('role99', { exact: true }).check()
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await page.locator('.panel').getByRole('link', { name: 'Shopping' }).waitFor()
  const { members } = await commands.run('member.list', { ...MAIN, user: 'bob@example.com' })
  expect(members).toMatchObject([{ realmId: 'rlmA', roles: ['role0', 'role200', 'role99'] }])
  await go(page, '#/main/sharing/rlmA')
  const panel = page.getByRole('complementary').last()
  await panel.getByRole('button', { name: 'More', exact: true }).click()
  await panel.getByText('role99', { exact: true }).waitFor()
  await panel.getByText('role200', { exact: true }).waitFor()
  expect(faults).toEqual([])
})

/** An object of alice, whose private realm it is in. */
async function setupMilk() {
  const server = await setupAdmin()
  const { commands } = server
  for (const userId of ['alice@example.com', 'bob@example.com']) {
    const user = JSON.stringify({ userId, type: 'prod' })
    await commands.run('user.write', { ...MAIN, user, isNew: true })
  }
  const upload = new Blob(['{"notes":"@id"}']).stream()
  await commands.run('schema.push', { ...MAIN, wait: true }, { upload })
  const alone = { owner: 'alice@example.com', realmId: 'alice@example.com' }
  const value = { id: 'milk', title: 'Milk', ...alone }
  await commands.run('object.put', { ...MAIN, table: 'notes', key: 'milk', value })
  return { ...server, value, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

test('an object that a user does not see is shared with them from the answer why', async () => {
  await using server = await setupMilk()
  const { commands } = server
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/data/notes/milk')
  const dialog = page.getByRole('dialog')
  const panel = page.locator('.panel').first()

  await panel.getByRole('button', { name: 'Explain' }).click()
  await panel.getByLabel('User').fill('bob@example.com')
  await panel.getByRole('button', { name: 'Ask' }).click()
  await panel.getByText('private realm of alice@example.com is seen by nobody else').waitFor()
  await panel.getByRole('button', { name: 'Share it with bob@example.com' }).click()
  await dialog.getByLabel('Its name').fill('Shopping')
  await dialog.getByLabel('User who becomes a member').fill('nobody@example.com')
  await dialog.getByRole('button', { name: 'Share', exact: true }).click()
  await dialog.getByRole('alert').waitFor()
  expect((await commands.run('realm.list', MAIN)).realms).toEqual([])
  await dialog.getByLabel('User who becomes a member').fill('bob@example.com')
  await dialog.getByRole('button', { name: 'Share', exact: true }).click()
  await panel.getByText('makes the user a member').waitFor()

  const { realms } = await commands.run('realm.list', MAIN)
  expect(realms).toMatchObject([{ name: 'Shopping', owner: 'alice@example.com' }])
  const shown = await commands.run('object.show', { ...MAIN, table: 'notes', key: 'milk' })
  expect(shown.realmId).toBe(realms[0]?.realm ?? '')
  const asked = { as: 'bob@example.com', table: 'notes', key: 'milk' }
  expect((await commands.run('explain', { ...MAIN, ...asked, do: 'read' })).allowed).toBe(true)
  expect((await commands.run('explain', { ...MAIN, ...asked, do: 'delete' })).allowed).toBe(false)
  expect(faults).toEqual([])
})

test('an object is shared with a member, who may get all rights, and not after a conflict with anything else', async () => {
  await using server = await setupMilk()
  const { commands } = server
  await commands.run('realm.add', { ...MAIN, realm: 'rlmA', name: 'Shopping' })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/data/notes/milk')
  const dialog = page.getByRole('dialog')
  const panel = page.locator('.panel').first()
  const share = () => dialog.getByRole('button', { name: 'Share', exact: true }).click()
  const realmOf = async () =>
    (await commands.run('object.show', { ...MAIN, table: 'notes', key: 'milk' })).realmId

  await panel.getByRole('button', { name: /sees it$/ }).click()
  await panel.getByRole('button', { name: 'Share it' }).click()
  await dialog.getByRole('combobox').selectOption('rlmA')
  await dialog.getByLabel('User who becomes a member').fill('bob@example.com')
  const conflict = { code: 'CONFLICT', message: 'That person is invited already' }
  const refuse = { status: 409, json: conflict }
  await page.route('**/admin/api/member.add', (route) => route.fulfill(refuse), { times: 1 })
  await share()
  await dialog.getByRole('alert').getByText('is invited already').waitFor()
  expect(await realmOf()).toBe('alice@example.com')

  const member = { ...MAIN, realm: 'rlmA', user: 'bob@example.com' }
  await commands.run('member.add', { ...member, permissions: { add: ['notes'] } })
  await dialog.getByLabel('They may change everything').check()
  await share()
  await panel.getByText('member', { exact: true }).waitFor()
  expect(await realmOf()).toBe('rlmA')
  const { members } = await commands.run('member.list', { ...MAIN, user: 'bob@example.com' })
  expect(members).toMatchObject([{ permissions: { add: ['notes'], manage: '*' } }])
  expect(faults).toEqual([])
})

test('the name of a new realm counts that is there when an object is shared after all', async () => {
  await using server = await setupMilk()
  const { commands } = server
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/data/notes/milk')
  const dialog = page.getByRole('dialog')
  const panel = page.locator('.panel').first()
  const share = () => dialog.getByRole('button', { name: 'Share', exact: true }).click()
  await panel.getByRole('button', { name: /sees it$/ }).click()
  await panel.getByRole('button', { name: 'Share it' }).click()
  await page.route('**/admin/api/object.put', (route) => route.abort(), { times: 1 })
  await dialog.getByLabel('Its name').fill('Errands')
  await share()
  await dialog.getByRole('alert').getByText('does not answer').waitFor()
  await dialog.getByLabel('Its name').fill('Food')
  await share()
  await page.getByText('The object is in the realm').waitFor()
  const { realms } = await commands.run('realm.list', MAIN)
  expect(realms.map(({ name }) => name)).toEqual(['Food'])
  const shown = await commands.run('object.show', { ...MAIN, table: 'notes', key: 'milk' })
  expect(shown.realmId).toBe(realms[0]?.realm ?? '')
  expect(faults).toEqual([])
})

test('a question about an object stays while others change the object, and is answered again', async () => {
  await using server = await setupMilk()
  const { commands } = server
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/data/notes/milk')
  const panel = page.locator('.panel').first()
  await panel.getByRole('button', { name: 'Explain' }).click()
  await panel.getByText('Yes').waitFor()
  const user = panel.getByLabel('User')
  await user.fill('bob@example')
  const again = page.waitForRequest('**/admin/api/explain')
  const value = { ...server.value, title: 'Oat milk' }
  await commands.run('object.put', { ...MAIN, table: 'notes', key: 'milk', value })
  expect((await again).postDataJSON()).toMatchObject({ as: 'alice@example.com' })
  expect(await user.inputValue()).toBe('bob@example')
  expect(await user.evaluate((element) => element.ownerDocument.activeElement === element)).toBe(
    true,
  )
  expect(faults).toEqual([])
})

test('a private realm says that nobody else sees it, and has no members to add', async () => {
  await using server = await setupAdmin()
  await using device = await browser.openDevice()
  const { page } = device
  await openAdmin(page, server.commands, '#/main/sharing/alice%40example.com')
  const panel = page.locator('.panel').first()
  await panel.getByText('This is the private realm of alice@example.com').waitFor()
  expect(await panel.getByRole('button', { name: 'Add' }).count()).toBe(0)
  expect(await panel.getByRole('alert').count()).toBe(0)
})

test('the roles and rights of a member are changed, and other rights of theirs stay', async () => {
  await using server = await setupMilk()
  const { commands } = server
  await commands.run('realm.add', { ...MAIN, realm: 'rlmA', name: 'Shopping' })
  const role = { ...MAIN, realm: 'rlmA', name: 'editor', permissions: { update: '*' } }
  await commands.run('role.put', role)
  const bob = { ...MAIN, realm: 'rlmA', user: 'bob@example.com' }
  const added = await commands.run('member.add', {
    ...bob,
    roles: ['gone'],
    permissions: { add: ['notes'] },
  })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/sharing/rlmA')
  const dialog = page.getByRole('dialog')
  const panel = page.locator('.panel').first()
  const change = async () => {
    await panel.getByRole('button', { name: 'Change the rights of bob@example.com' }).click()
    await dialog.getByText('Also: add to notes').waitFor()
  }
  const save = () => dialog.getByRole('button', { name: 'Save' }).click()
  const memberOf = async () => {
    const { members } = await commands.run('member.list', { ...MAIN, user: 'bob@example.com' })
    return members[0]
  }

  await change()
  await dialog.getByLabel('editor').check()
  await dialog.getByLabel('gone').uncheck()
  await dialog.getByLabel('May change everything').check()
  await save()
  await panel.getByText('manage everything').waitFor()
  const rights = { roles: ['editor'], permissions: { add: ['notes'], manage: '*' } }
  expect(await memberOf()).toMatchObject(rights)

  await change()
  await dialog.getByLabel('May change everything').uncheck()
  await commands.run('member.update', { ...MAIN, member: added.id, roles: [] })
  await save()
  await dialog.getByRole('alert').getByText('changed meanwhile').waitFor()
  expect(await memberOf()).toMatchObject({ ...rights, roles: [] })
  await page.keyboard.press('Escape')
  await panel.getByText('manage everything · add to notes', { exact: true }).waitFor()
  await change()
  await save()
  await dialog.waitFor({ state: 'detached' })
  expect(faults).toEqual([])
})

test('a role that others have changed or added meanwhile is not overwritten', async () => {
  await using server = await setupAdmin()
  const { commands } = server
  await commands.run('realm.add', { ...MAIN, realm: 'rlmA', name: 'Shopping' })
  const role = { ...MAIN, realm: 'rlmA', name: 'editor' }
  await commands.run('role.put', { ...role, permissions: { add: ['notes'] } })
  await using device = await browser.openDevice()
  const { page } = device
  const { faults } = await openAdmin(page, commands, '#/main/sharing/rlmA')
  const dialog = page.getByRole('dialog')
  const panel = page.locator('.panel').first()
  await panel.getByRole('button', { name: 'Change editor' }).click()
  await dialog.getByLabel('Permissions as JSON').fill('{"update": "*"}')
  await commands.run('role.put', { ...role, permissions: { manage: ['notes'] } })
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').getByText('changed meanwhile').waitFor()
  await page.keyboard.press('Escape')
  await panel.getByText('manage notes').waitFor()
  await panel.getByRole('button', { name: 'Change editor' }).click()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('The role editor was saved').waitFor()
  await panel.getByRole('button', { name: 'Add', exact: true }).nth(1).click()
  await dialog.getByLabel('Name').fill('editor')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByRole('alert').getByText('already').waitFor()
  const { roles } = await commands.run('role.list', { ...MAIN, realm: 'rlmA' })
  expect(roles).toMatchObject([{ permissions: { manage: ['notes'] } }])
  expect(faults).toEqual([])
})
