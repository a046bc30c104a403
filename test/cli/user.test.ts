import { describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../setup'
import { type Outcome, runJson, runSatchel } from './setup'
import type { UserJson } from '../../src/domain/user/list'

interface List {
  readonly data: readonly UserJson[]
  readonly hasMore: boolean
  readonly pagingKey?: string
}

async function setup() {
  const folder = temporaryFolder()
  const data = ['--data', folder.path]
  await runJson(['db', 'create', 'main', ...data])
  return {
    data,
    folder: folder.path,
    user: (...args: string[]) => runJson<UserJson>(['user', ...args, ...data]),
    list: (...args: string[]) => runJson<List>(['user', 'list', ...args, ...data]),
    say: (...args: string[]) => runSatchel([...args, ...data]),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

function expectRefused({ exitCode, stderr }: Outcome, text: string, code = 1): void {
  expect({ exitCode, stderr }).toEqual({ exitCode: code, stderr: expect.stringContaining(text) })
}

describe('satchel user', () => {
  test('makes, shows, changes and deletes a user', async () => {
    using satchel = await setup()
    const { user } = satchel
    const alice = await user('add', 'Alice@Example.com', '--name', 'Alice')
    expect(alice).toMatchObject({
      userId: 'alice@example.com',
      type: 'prod',
      lastLogin: null,
      deactivated: null,
      data: { displayName: 'Alice' },
    })
    expect(await user('show', 'alice@example.com')).toEqual(alice)
    const guest = await user('add', 'guest@example.com', '--eval-days', '5')
    expect(guest).toMatchObject({ type: 'eval', evalDaysLeft: 5 })
    const set = (options: string) => user('set', 'alice@example.com', ...options.split(' '))
    const changed = await set(
      '--type eval --eval-days 14 --email a@example.com --valid-until 2031-01-01',
    )
    expect(changed).toMatchObject({
      type: 'eval',
      evalDaysLeft: 14,
      validUntil: '2031-01-01T00:00:00.000Z',
      data: { displayName: 'Alice', email: 'a@example.com' },
    })
    const endless = await set('--valid-until never')
    expect(endless).not.toHaveProperty('validUntil')
    const named = await set('--properties {"team":"x"} --name Al')
    expect(named.data).toEqual({ team: 'x', displayName: 'Al', email: 'a@example.com' })
    // They are all that is kept besides name and e-mail, which stay.
    const replaced = await set('--properties {"room":1}')
    expect(replaced.data).toEqual({ room: 1, displayName: 'Al', email: 'a@example.com' })
    const bare = await set('--properties {"displayName":null,"email":null}')
    expect(bare.data).toEqual({ displayName: null, email: null })
    expect((await user('deactivate', 'alice@example.com')).deactivated).not.toBeNull()
    expect((await user('reactivate', 'alice@example.com')).deactivated).toBeNull()
    const deleted = await runJson(['user', 'delete', 'ALICE@example.com', '--yes', ...satchel.data])
    expect(deleted).toEqual({
      userId: 'alice@example.com',
      left: expect.stringContaining('backups keep what they had'),
    })
    expectRefused(await satchel.say('user', 'show', 'alice@example.com'), 'no user with this id')
  })

  test('lists users as they are wanted, page by page', async () => {
    using satchel = await setup()
    const { user, list } = satchel
    for (const [id, ...rest] of [
      ['zed', '--name', 'Åke'],
      ['bob@example.com', '--name', 'Bob', '--type', 'eval'],
      ['carl@demo.local', '--type', 'demo'],
    ]) {
      await user('add', id!, ...rest)
    }
    await user('deactivate', 'zed')
    const ids = async (...args: string[]) => (await list(...args)).data.map(({ userId }) => userId)
    expect(await ids()).toEqual(['bob@example.com', 'carl@demo.local', 'zed'])
    expect(await ids('--search', 'ake')).toEqual(['zed'])
    expect(await ids('--type', 'demo')).toEqual(['carl@demo.local'])
    expect(await ids('--inactive')).toEqual(['zed'])
    expect(await ids('--active', '--desc')).toEqual(['carl@demo.local', 'bob@example.com'])
    expect(await ids('--sort', 'displayName', '--desc')).toEqual([
      'bob@example.com',
      'zed',
      'carl@demo.local',
    ])
    const first = await list('--limit', '2')
    expect(first.hasMore).toBe(true)
    expect(await ids('--limit', '2', '--after', first.pagingKey ?? '')).toEqual(['zed'])
    const { stdout } = await satchel.say('user', 'list', '--limit', '2')
    expect(stdout).toBe(
      [
        'ID                TYPE   STATE    ENDS         LAST LOGIN   NAME',
        'bob@example.com   eval   active   in 30 days   never        Bob',
        'carl@demo.local   demo   active                never',
        `There are more: add --after ${first.pagingKey}`,
        '',
      ].join('\n'),
    )
    expect((await satchel.say('user', 'list', '--search', 'nobody')).stdout).toBe(
      'No users were found\n',
    )
  })

  test('lists more than a page holds, all of them if that is wanted', async () => {
    using satchel = await setup()
    const file = join(satchel.folder, 'demo.json')
    const people = Array.from({ length: 2_100 }, (_, at) => [`u${at}@demo.local`, {}])
    writeFileSync(file, JSON.stringify({ demoUsers: Object.fromEntries(people) }))
    expect((await satchel.say('import', file)).exitCode).toBe(0)
    const everyone = await satchel.list('--all')
    expect(everyone).toMatchObject({ hasMore: false })
    expect(new Set(everyone.data.map(({ userId }) => userId)).size).toBe(2_100)
    const many = await satchel.list('--limit', '1500')
    expect(many.data).toEqual(everyone.data.slice(0, 1_500))
    const rest = await satchel.list('--all', '--after', many.pagingKey ?? '')
    expect(rest.data).toEqual(everyone.data.slice(1_500))
    const { stdout } = await satchel.say('user', 'list', '--all', '--desc')
    expect(stdout.trim().split('\n')).toHaveLength(2_101)
  })

  test('shows what people call themselves as it is, and lets it do nothing to the terminal', async () => {
    using satchel = await setup()
    const name = '\u001b[31mred\r\nnext\u009b\u202e'
    await satchel.user('add', 'a', '--name', name, '--email', '\u0007@x')
    await satchel.user('add', 'b', '--name', '山田')
    await satchel.user('add', '用户', '--name', 'ö')
    const [list, shown] = [
      await satchel.say('user', 'list'),
      await satchel.say('user', 'show', 'a'),
    ]
    const seen = '\\u001b[31mred\\u000d\\u000anext\\u009b\\u202e'
    expect(list.stdout.split('\n').slice(1, 4)).toEqual([
      `a      prod   active          never        ${seen}`,
      'b      prod   active          never        山田',
      '用户   prod   active          never        ö',
    ])
    expect(shown.stdout).toContain(`Name            ${seen}\n`)
    expect(shown.stdout).toContain('E-mail          \\u0007@x\n')
    // Programs get the text itself.
    expect((await satchel.user('show', 'a')).data).toMatchObject({ displayName: name })
  })

  test('shows in a table which users are active', async () => {
    using satchel = await setup()
    const { user } = satchel
    await user('add', 'a', '--type', 'eval', '--eval-days', '0')
    await user('add', 'b', '--valid-until', '2029-01-01')
    await user('add', 'c', '--valid-until', '2040-01-01')
    await user('add', 'd')
    await user('deactivate', 'd')
    const evaluating = ['--type', 'eval', '--eval-days', '9']
    await user('add', 'e', ...evaluating, '--valid-until', '2029-01-01')
    await user('add', 'f', ...evaluating, '--valid-until', '2040-01-01')
    const { stdout } = await satchel.say('user', 'list')
    const states = stdout.trim().split('\n').slice(1)
    expect(states.map((line) => line.split(/\s{2,}/).slice(0, 4))).toEqual([
      ['a', 'eval', 'expired', 'in 0 days'],
      ['b', 'prod', 'expired', '2029-01-01'],
      ['c', 'prod', 'active', '2040-01-01'],
      ['d', 'prod', 'deactivated', 'never'],
      // The earlier end counts.
      ['e', 'eval', 'expired', '2029-01-01'],
      ['f', 'eval', 'active', 'in 9 days'],
    ])
    const shown = await satchel.say('user', 'show', 'c')
    expect(shown.stdout).toMatch(/^User id +c\nType +prod\nValid until +2040-01-01T00:00:00.000Z\n/)
  })

  test('refuses what is wrong and says so', async () => {
    using satchel = await setup()
    const { say, user } = satchel
    await user('add', 'alice@example.com')
    expectRefused(await say('user', 'add', 'alice@example.com'), 'already')
    expectRefused(await say('user', 'set', 'nobody', '--type', 'prod'), 'no user')
    expectRefused(await say('user', 'deactivate', 'nobody'), 'no user')
    expectRefused(await say('user', 'delete', 'nobody', '--yes'), 'no user')
    expectRefused(await say('user', 'add', 'rlm-x'), 'user id')
    expectRefused(await say('user', 'add', 'x', '--valid-until', 'soon'), 'or never', 2)
    expectRefused(await say('user', 'add', 'x', '--valid-until', '2030-02-31T00:00'), 'or never', 2)
    expectRefused(await say('user', 'add', 'x', '--eval-days', '1.5'), 'a whole number', 2)
    expectRefused(await say('user', 'set', 'alice@example.com'), 'Nothing to change', 2)
    expectRefused(await say('user', 'add', 'x', '--eval-days', '31'), 'at most 30')
    expectRefused(await say('user', 'add', 'x', '--type', 'root'), 'allowed choices', 2)
    expectRefused(await say('user', 'add', 'x', '--properties', '[1]'), 'JSON object', 2)
    expectRefused(await say('user', 'list', '--active', '--inactive'), 'cannot be used with', 2)
    expectRefused(await say('user', 'list', '--after', 'x'), 'pagingKey')
    expectRefused(await say('user', 'list', '--limit', '0'), 'at least 1', 2)
    expectRefused(await say('user', 'list', '--limit', '5', '--all'), 'cannot be used with', 2)
  })

  test('asks before it deletes a user, and takes nothing but the id for yes', async () => {
    using satchel = await setup()
    await satchel.user('add', 'alice@example.com')
    const command = ['user', 'delete', 'alice@example.com', ...satchel.data]
    expectRefused(await runSatchel(command), 'repeat with --yes', 2)
    expectRefused(await runSatchel(command, { answer: 'y' }), 'does not match', 2)
    expect((await satchel.list()).data).toHaveLength(1)
    expect(await runSatchel(command, { answer: 'alice@example.com' })).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(
        /^The user alice@example.com is deleted\n.*backups keep what they had.*\n$/,
      ),
    })
    expect((await satchel.list()).data).toEqual([])
  })
})
