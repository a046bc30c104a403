import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { temporaryFolder } from '../setup'
import { openBrowser } from '../http/admin/setup'
import { until } from '../timing'
import { EXECUTABLE, satchel, satchelJson, serve } from './setup'

interface Link {
  readonly url: string
}

describe('the page for administrators of the executable', () => {
  test('logs in by a link, runs operations and ends with satchel admin revoke', async () => {
    using folder = temporaryFolder()
    const surroundings = { cwd: folder.path }
    await using server = await serve(surroundings)
    const { url } = await satchelJson<Link>(['admin'], surroundings)
    expect(url).toStartWith(`${server.ready.url}/admin#`)
    const browser = openBrowser(server.ready.url)
    expect((await browser.post(url.split('#')[1]!)).status).toBe(200)
    expect(await browser.result('db.list')).toMatchObject([{ name: 'main' }])
    // The page names the commands of this program.
    expect(await browser.result('status')).toMatchObject({ program: EXECUTABLE })
    expect(await satchelJson(['admin', 'revoke'], surroundings)).toEqual({ ended: 1 })
    expect((await browser.send('GET', '/session')).status).toBe(401)
  })

  test('is embedded with all its files, and without source maps', async () => {
    using folder = temporaryFolder()
    await using server = await serve({ cwd: folder.path })
    const browser = openBrowser(server.ready.url)
    const html = await (await browser.send('GET', '')).text()
    const names = [...html.matchAll(/assets\/([\w.-]+)/g)].map(([, name = '']) => name)
    expect(names.length).toBeGreaterThan(1)
    for (const name of names) {
      const answer = await browser.send('GET', `/assets/${name}`)
      expect([name, answer.status]).toEqual([name, 200])
      expect(await answer.text()).not.toContain('sourceMappingURL')
    }
  })

  test('adds at most 400 kB to the executable, in which it is once', async () => {
    const page = Buffer.from(await Bun.file(join(dirname(EXECUTABLE), 'page.bin')).bytes())
    expect(page.length).toBeLessThanOrEqual(400_000)
    const executable = Buffer.from(await Bun.file(EXECUTABLE).bytes())
    const at = executable.indexOf(page)
    expect(at).toBeGreaterThan(0)
    expect(executable.includes(page.subarray(-1_000), at + page.length)).toBe(false)
    // Nor is the text of a script, as that of a module would be.
    expect(executable.includes('cm-line')).toBe(false)
  })

  test('is off with --no-admin, and no command makes a link to it', async () => {
    using folder = temporaryFolder()
    const surroundings = { cwd: folder.path }
    await using server = await serve(surroundings, ['--no-admin'])
    for (const path of ['/admin', '/admin/', '/admin/session', '/admin/assets/x', '/admin/api/x']) {
      const answer = await fetch(server.ready.url + path)
      expect([path, answer.status]).toEqual([path, 404])
    }
    expect(await satchel(['admin'], surroundings)).toMatchObject({ exitCode: 1, stdout: '' })
  })

  test('is linked at a terminal in development, and in no log', async () => {
    const isContained = existsSync('/.dockerenv') || existsSync('/run/.containerenv')
    expect(await screenOf([])).toBe(!isContained)
    expect(await screenOf([], { JOURNAL_STREAM: '8:1' })).toBe(false)
    expect(await screenOf([], { container: 'podman' })).toBe(false)
    expect(await screenOf(['--public-url', 'https://example.com'])).toBe(false)
    expect(await screenOf(['--no-admin'])).toBe(false)
    expect(await screenOf(['--json'])).toBe(false)
  })
})

/** True when a server that starts at a terminal shows a link. */
async function screenOf(
  flags: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<boolean> {
  using folder = temporaryFolder()
  let screen = ''
  const child = Bun.spawn([EXECUTABLE, 'serve', '--port', '0', ...flags], {
    cwd: folder.path,
    env: environment,
    terminal: {
      data(_terminal, bytes) {
        screen += new TextDecoder().decode(bytes)
      },
    },
  })
  await until(() => screen.includes('Ctrl-C stops it') || screen.includes('"event":"ready"'))
  child.kill('SIGTERM')
  await child.exited
  child.terminal?.close()
  return screen.includes('/admin#')
}
