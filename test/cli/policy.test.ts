import { describe, expect, test } from 'bun:test'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type AnswerHook, startHook, verdict } from '../auth/webhook-setup'
import { temporaryFolder } from '../setup'
import { type Outcome, runJson, runSatchel, type Scene } from './setup'
import type { UserJson } from '../../src/domain/user/list'

const SECRET = /whsec_[A-Za-z0-9+/]{43}=/

async function setup() {
  const folder = temporaryFolder()
  const config = join(folder.path, 'settings.json')
  await Bun.write(config, '{"allowPrivateAddresses": "127.0.0.0/8"}')
  mkdirSync(join(folder.path, 'data'))
  const data = ['--data', join(folder.path, 'data'), '--config', config]
  await runJson(['db', 'create', 'main', ...data])
  return {
    data,
    policy: (...args: string[]) => runJson<unknown>(['policy', ...args, ...data]),
    say: (...args: string[]) => runSatchel([...args, ...data]),
    watch: (args: string[], scene: Scene = { isOutputTerminal: true }) =>
      runSatchel([...args, ...data], scene),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

/** A database that asks a web hook. */
async function setupHook(answer?: AnswerHook) {
  const satchel = await setup()
  const hook = startHook(answer)
  await satchel.policy('set', '--new-users', 'webhook', '--hook-url', hook.url)
  return {
    ...satchel,
    hook,
    [Symbol.dispose]() {
      hook[Symbol.dispose]()
      satchel[Symbol.dispose]()
    },
  }
}

function expectRefused({ exitCode, stderr }: Outcome, text: string, code = 1): void {
  expect({ exitCode, stderr }).toEqual({ exitCode: code, stderr: expect.stringContaining(text) })
}

describe('satchel policy', () => {
  test('is shown and set', async () => {
    using satchel = await setup()
    const { policy } = satchel
    const usual = { newUsers: 'prod', evalDays: 30, seats: null, hookUrl: null }
    expect(await policy('show')).toEqual(usual)
    const changed = { ...usual, newUsers: 'eval', evalDays: 14 }
    const options = ['--new-users', 'eval', '--eval-days', '14', '--seats', '5']
    expect(await policy('set', ...options)).toEqual({ ...changed, seats: 5 })
    expect(await policy('set', '--seats', 'none')).toEqual(changed)
    expect((await satchel.say('policy', 'show')).stdout).toBe(
      'New users       eval: they start an evaluation\nEvaluations     last 14 days\nSeats           no limit\n',
    )
    expectRefused(await satchel.say('policy', 'set', '--new-users', 'all'), 'allowed choices', 2)
    expectRefused(await satchel.say('policy', 'set', '--eval-days', '0'), '1 to')
    expectRefused(await satchel.say('policy', 'set', '--seats', '-1'), 'none', 2)
  })

  test('holds for tokens that commands issue', async () => {
    using satchel = await setup()
    await satchel.policy('set', '--new-users', 'reject')
    const command = ['token', '--sub', 'alice@example.com']
    expectRefused(await satchel.say(...command), 'create one with satchel user add')
    await runJson(['user', 'add', 'alice@example.com', ...satchel.data])
    expect((await satchel.say(...command)).exitCode).toBe(0)
    const show = ['user', 'show', 'alice@example.com', ...satchel.data]
    const { lastLogin } = await runJson<UserJson>(show)
    expect(lastLogin).not.toBeNull()
  })
})

describe('satchel policy, with a web hook', () => {
  const url = 'https://app.example.com/new-user'

  test('prints its secret once, to a terminal', async () => {
    using satchel = await setup()
    const set = ['policy', 'set', '--new-users', 'webhook', '--hook-url', url]
    const { stdout } = await satchel.watch(set)
    expect(stdout.replace(SECRET, 'SECRET')).toBe(
      [
        'New users       webhook: they are users if the web hook accepts them',
        `Web hook        ${url}`,
        'Evaluations     last 30 days',
        'Seats           no limit',
        'Hook secret     SECRET   (shown only once)',
        'Test it with: satchel policy test someone@example.com',
        '',
      ].join('\n'),
    )
    for (const args of [set, ['policy', 'show']]) {
      const { stdout: shown } = await satchel.watch(args)
      expect(shown).toContain(url)
      expect(shown).not.toContain('ecret')
    }
    expect(JSON.stringify(await satchel.policy('show'))).not.toMatch(SECRET)
  })

  test('prints its secret to a terminal only, and names the command for another one', async () => {
    using satchel = await setup()
    const { stdout } = await satchel.say('policy', 'set', '--hook-url', url)
    expect(stdout).toContain(`Web hook        ${url} (not used)\n`)
    expect(stdout).toContain('create another with satchel policy rotate-secret')
    expect(stdout).not.toMatch(SECRET)
    expect((await satchel.say('policy', 'rotate-secret')).stdout).not.toMatch(SECRET)
  })

  test('prints the secret to programs, and another one when it is rotated', async () => {
    using satchel = await setup()
    const first = await satchel.policy('set', '--new-users', 'webhook', '--hook-url', url)
    expect(first).toEqual({
      newUsers: 'webhook',
      evalDays: 30,
      seats: null,
      hookUrl: url,
      hookSecret: expect.stringMatching(SECRET),
    })
    const second = await satchel.policy('rotate-secret', '--days', '1')
    expect(second).toEqual({
      hookSecret: expect.stringMatching(SECRET),
      oldSecretUntil: expect.stringMatching(/^2030-.*Z$/),
    })
    expect(JSON.stringify(second)).not.toContain((first as { hookSecret: string }).hookSecret)
    const watched = await satchel.watch(['policy', 'rotate-secret'])
    expect(watched.stdout).toMatch(
      /^Hook secret     whsec_\S+   \(shown only once\)\nThe old secret signs as well until 2030-\d\d-\d\dT[\d:.]+Z\n$/,
    )
    expect(await satchel.policy('set', '--new-users', 'prod', '--hook-url', 'none')).toEqual({
      newUsers: 'prod',
      evalDays: 30,
      seats: null,
      hookUrl: null,
    })
  })

  test('calls it for a person, and prints the decision', async () => {
    using satchel = await setupHook(({ text }) => {
      const { userId } = JSON.parse(text) as { userId: string }
      return userId.endsWith('@example.com')
        ? verdict('eval', { displayName: 'Ada', team: 7 })
        : verdict('reject')
    })
    const { stdout } = await satchel.say('policy', 'test', 'Ada@Example.com')
    expect(stdout.replace(/\d+ ms/, 'N ms')).toBe(
      [
        `${satchel.hook.url} answered within N ms`,
        'ada@example.com would become a user of type eval',
        'User data       {"displayName":"Ada","team":7}',
        '',
      ].join('\n'),
    )
    const rejected = await satchel.say('policy', 'test', 'eve@evil.example')
    expect(rejected.stdout).toEndWith('eve@evil.example would be rejected\n')
    expect(await satchel.policy('test', 'ada@example.com')).toEqual({
      email: 'ada@example.com',
      url: satchel.hook.url,
      durationMs: expect.any(Number),
      action: 'eval',
      data: { displayName: 'Ada', team: 7 },
    })
    expect(await runJson<unknown>(['user', 'list', ...satchel.data])).toMatchObject({ data: [] })
  })

  test('says why it cannot be asked', async () => {
    using satchel = await setupHook(() => new Response('', { status: 500 }))
    const test = ['policy', 'test', 'ada@example.com']
    expectRefused(await satchel.say(...test), 'The web hook failed: 127.0.0.1')
    expectRefused(await satchel.say('policy', 'test', 'ada'), 'not an e-mail address')
    await satchel.policy('set', '--hook-url', 'http://10.0.0.1/')
    expectRefused(await satchel.say(...test), 'allow it with --allow-private-addresses')
    await satchel.policy('set', '--hook-url', 'none', '--new-users', 'prod')
    expectRefused(await satchel.say(...test), 'no address is set')
    expectRefused(await satchel.say('policy', 'rotate-secret'), 'There is no web hook')
  })

  test('refuses what makes no sense', async () => {
    using satchel = await setup()
    const set = (...args: string[]) => satchel.say('policy', 'set', ...args)
    const nothing = await set()
    expect(nothing).toMatchObject({ exitCode: 2, stdout: '' })
    expect(nothing.stderr).toContain('Nothing to change: give an option')
    expectRefused(await set('--new-users', 'webhook'), 'needs an address: --hook-url')
    expectRefused(await set('--hook-url', 'app.example.com'), 'an https address')
    await satchel.policy('set', '--new-users', 'webhook', '--hook-url', url)
    expectRefused(await set('--hook-url', 'none'), 'needs an address: --hook-url')
    expectRefused(await satchel.say('policy', 'rotate-secret', '--days', '400'), '0 to 365 days')
  })
})
