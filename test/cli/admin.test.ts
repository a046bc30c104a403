import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { openBrowser, setupAdmin } from '../http/admin/setup'
import { fakeDesktop } from './desktop'
import { runJson, runSatchel } from './setup'

interface Link {
  readonly url: string
  readonly expires: string
}

/** The code of the link in a file that a desktop opened. */
function codeIn([, html]: readonly [path: string, html: string, mode: string]): string {
  return /#([\w-]+)"/.exec(html)?.[1] ?? ''
}

describe('satchel admin', () => {
  test('makes a link that logs in', async () => {
    await using server = await setupAdmin()
    const { url } = await runJson<Link>(['admin', '--data', server.folder])
    expect(url).toStartWith(`${server.url}/admin#`)
    const answer = await openBrowser(server.url).post(url.split('#')[1]!)
    expect(await answer.json()).toMatchObject({ role: 'operator', isReadOnly: false })
  })

  test('makes a link for one database, to read, for a time', async () => {
    await using server = await setupAdmin()
    const flags = ['--db', 'main', '--read-only', '--for', '1h']
    const { url } = await runJson<Link>(['admin', ...flags, '--data', server.folder])
    const answer = await openBrowser(server.url).post(url.split('#')[1]!)
    const session = (await answer.json()) as { expiresAt: number }
    expect(session).toMatchObject({ role: 'client', databases: ['main'], isReadOnly: true })
    const [listed] = await server.commands.run('session.list', {})
    expect(listed).toMatchObject({ database: 'main', isReadOnly: true })
  })

  test('prints the link for a person too', async () => {
    await using server = await setupAdmin()
    const { stdout } = await runSatchel(['admin', '--data', server.folder])
    expect(stdout).toStartWith(`${server.url}/admin#`)
  })

  test('refuses an unknown database, and a time that is none or too long', async () => {
    await using server = await setupAdmin()
    const run = (...args: string[]) => runSatchel(['admin', ...args, '--data', server.folder])
    expect(await run('--db', 'none')).toMatchObject({ exitCode: 1 })
    for (const time of ['13h', '721m', '0m', '8', 'h', '-1h']) {
      expect([time, (await run('--for', time)).exitCode]).toEqual([time, 2])
    }
  })

  test('says so when no server has the page', async () => {
    await using server = await setupAdmin({ noAdmin: true })
    const { exitCode, stderr } = await runSatchel(['admin', '--data', server.folder])
    expect(exitCode).toBe(1)
    expect(stderr).toContain('--no-admin')
  })

  test('opens a file of this user alone, and removes it', async () => {
    await using server = await setupAdmin()
    using desktop = fakeDesktop()
    const running = runSatchel(['admin', '--open', '--data', server.folder])
    const opened = await desktop.opened()
    const [path, , mode] = opened
    expect(path).not.toContain('#')
    expect(Number.parseInt(mode, 8) & 0o777).toBe(0o600)
    await openBrowser(server.url).post(codeIn(opened))
    const { exitCode, stdout } = await running
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `Opened ${server.url}/admin\n` })
    expect(existsSync(path)).toBe(false)
  })

  test('ends when the page is open, also where the browser runs in its place', async () => {
    await using server = await setupAdmin()
    using desktop = fakeDesktop('while [ -e "$0" ]; do sleep 0.1; done')
    const running = runSatchel(['admin', '--open', '--data', server.folder])
    await openBrowser(server.url).post(codeIn(await desktop.opened()))
    expect(await running).toMatchObject({ stdout: `Opened ${server.url}/admin\n` })
  })

  test('ends when a page is confirmed by the link that it opened', async () => {
    await using server = await setupAdmin()
    const browser = await server.logIn()
    server.clock.advance(1)
    using desktop = fakeDesktop()
    const running = runSatchel(['admin', '--confirm', '--open', '--data', server.folder])
    await browser.post(codeIn(await desktop.opened()))
    expect(await running).toMatchObject({ stdout: `Opened ${server.url}/admin\n` })
    expect(await server.commands.run('session.list', {})).toHaveLength(1)
  })

  test('prints the link when no browser can be opened', async () => {
    await using server = await setupAdmin()
    using _ = fakeDesktop('exit 1')
    const { exitCode, stdout } = await runSatchel(['admin', '--open', '--data', server.folder])
    expect(exitCode).toBe(0)
    expect(stdout).toContain('No browser can be opened here')
    const [, code = ''] = /#([\w-]+)$/m.exec(stdout) ?? []
    expect((await openBrowser(server.url).post(code)).status).toBe(200)
  })
})

describe('satchel admin revoke', () => {
  test('ends all logins, or one', async () => {
    await using server = await setupAdmin()
    const browsers = [await server.logIn(), await server.logIn(), await server.logIn()]
    const [newest] = await server.commands.run('session.list', {})
    const run = (...args: string[]) =>
      runJson(['admin', 'revoke', ...args, '--data', server.folder])
    expect(await run(newest!.id)).toEqual({ ended: 1 })
    expect((await browsers[2]!.send('GET', '/session')).status).toBe(401)
    expect((await browsers[0]!.send('GET', '/session')).status).toBe(200)
    expect(await run()).toEqual({ ended: 2 })
    expect((await browsers[0]!.send('GET', '/session')).status).toBe(401)
    const again = await runSatchel(['admin', 'revoke', newest!.id, '--data', server.folder])
    expect(again.exitCode).toBe(1)
  })
})
