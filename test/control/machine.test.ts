import { expect, test } from 'bun:test'
import { openSession } from '../../src/control/session'
import { serverLog } from '../../src/log/log'
import { codeOf } from '../auth/setup'
import { setupServer } from '../setup'
import { until } from '../timing'
import { callerWith, setupOperations } from './setup'

interface Line {
  readonly level: string
  readonly message?: string
  readonly path?: string
}

/** Follows the log of a server until it is disposed. */
async function follow(folder: string, input: object = {}) {
  const session = await openSession(folder, () => undefined)
  const lines: Line[] = []
  const ending = new AbortController()
  const emit = async (item: unknown) => void lines.push(item as Line)
  const following = session.run('log.follow', input, { emit, signal: ending.signal })
  following.catch(() => undefined)
  return {
    lines,
    async [Symbol.asyncDispose]() {
      ending.abort()
      await session[Symbol.asyncDispose]()
    },
  }
}

test('the log is followed from now on, each line as an object', async () => {
  await using server = await setupServer()
  await using follower = await follow(server.folder)
  await until(async () => {
    await fetch(`${server.main}/my/none?secret=1`)
    return follower.lines.length > 0
  })
  expect(follower.lines[0]).toMatchObject({
    level: 'info',
    logger: 'access',
    method: 'GET',
    path: '/main/my/none',
    status: 401,
  })
  expect(JSON.stringify(follower.lines)).not.toContain('secret')
})

test('long values of a line are cut', async () => {
  await using server = await setupServer()
  await using follower = await follow(server.folder, { level: 'warning' })
  await until(async () => {
    serverLog.warning('Large {n}', { n: 1, text: '<b>'.repeat(500_000), list: ['y'.repeat(9_000)] })
    return follower.lines.length > 0
  })
  const [line] = follower.lines
  expect(line).toMatchObject({ level: 'warning', n: 1, message: 'Large 1' })
  const { text, list } = line as unknown as { readonly text: string; readonly list: string }
  expect(text).toStartWith('<b><b>')
  expect(text).toEndWith('… (1500000 characters)')
  expect(text.length + list.length).toBeLessThan(9_000)
})

test('a follower hears lines of the level it wants, and those that are more serious', async () => {
  await using server = await setupServer()
  await using all = await follow(server.folder)
  await using serious = await follow(server.folder, { level: 'warning' })
  await until(async () => {
    await fetch(server.url)
    serverLog.warning('Careful: <b>\u2028')
    return all.lines.length > 1 && serious.lines.length > 0
  })
  expect(new Set(serious.lines.map(({ level }) => level))).toEqual(new Set(['warning']))
  expect(serious.lines[0]?.message).toBe('Careful: <b>\u2028')
})

test('settings are shown with their sources, and secrets as set', async () => {
  await using server = await setupServer({
    mailFrom: 'me@example.com',
    smtpUrl: 'smtp://mail.example.com',
  })
  await using session = await openSession(server.folder, () => undefined)
  const { settings, isDevelopment } = await session.run('server.show', {})
  const setting = (name: string) => settings.find((each) => each.name === name)
  expect(setting('mailFrom')).toEqual({
    name: 'mailFrom',
    value: 'me@example.com',
    source: '--mail-from',
  })
  expect(setting('smtpUrl')).toMatchObject({ value: 'set', source: '--smtp-url' })
  expect(setting('maxDepth')).toEqual({ name: 'maxDepth', value: '64', source: null })
  expect(setting('backupAt')?.value).toBe('02:30')
  expect(setting('backupKeep')?.value).toBe('7d,4w,12m')
  expect(setting('offloadBeyond')?.value).toBe('off')
  expect(isDevelopment).toBe(true)
  expect(JSON.stringify(settings)).not.toContain('mail.example.com')
})

test('the log and the settings are for the owner of the data folder, of a server that runs', async () => {
  await using server = await setupOperations()
  const all = callerWith('ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE', 'MANAGE_DB', 'IMPERSONATE')
  for (const name of ['log.follow', 'server.show', 'server.figures'] as const) {
    expect(await codeOf(() => server.run(name))).toBe('UNPROCESSABLE')
    expect(await codeOf(() => server.run(name, {}, all))).toBe('NOT_AUTHORIZED')
  }
})
