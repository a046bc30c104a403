import { expect, test } from 'bun:test'
import { ALICE, BOB, type DataServer, setupData } from '../http/setup'
import { runJson, runSatchel } from './setup'

const on = ({ folder }: DataServer) => ({
  satchel: async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await runSatchel([...args, '--data', folder])
    return exitCode === 0 ? stdout : stderr
  },
  json: <T>(...args: string[]) => runJson<T>([...args, '--data', folder]),
})

test('realm commands add, show, change, list and remove a realm', async () => {
  await using server = await setupData()
  const { satchel, json } = on(server)
  const added = await satchel('realm', 'add', '\u001b[2JA', '--id', 'rlmA', '--owner', ALICE)
  expect(added).toStartWith(
    `Realm           rlmA\nName            \\u001b[2JA\nOwner           ${ALICE}\n`,
  )
  expect(await satchel('realm', 'list')).toContain('rlmA')
  expect(await satchel('realm', 'update', 'rlmA', '--name', 'B')).toContain('Name            B\n')
  expect(await json<object>('realm', 'show', 'rlmA')).toMatchObject({
    realm: 'rlmA',
    name: 'B',
    owner: ALICE,
    updated: '2030-01-01T12:00:00.000Z',
  })
  expect(await satchel('realm', 'remove', 'rlmA')).toBe('The realm rlmA is removed\n')
  expect(await satchel('realm', 'show', 'rlmA')).toBe('satchel: There is no realm "rlmA"\n')
  expect(await satchel('realm', 'list')).toBe('There are no realms\n')
})

test('member and role commands share a realm with a user and an invited person', async () => {
  await using server = await setupData()
  const { satchel, json } = on(server)
  await satchel('user', 'add', BOB)
  await satchel('realm', 'add', 'A', '--id', 'rlmA')
  const permissions = ['--permissions', '{"add":["plain"]}']
  expect(await satchel('role', 'put', 'editor', '--realm', 'rlmA', ...permissions)).toBe(
    'The role editor of rlmA: {"add":["plain"]}\n',
  )
  expect(await satchel('role', 'list', '--realm', 'rlmA')).toMatch(/editor +\{"add":\["plain"\]\}/)
  const bob = await json<{ id: string }>(
    'member',
    'add',
    'rlmA',
    '--user',
    BOB,
    '--roles',
    'editor',
  )
  expect(bob).toMatchObject({ userId: BOB, state: 'accepted', roles: ['editor'] })
  const invited = ['member', 'add', 'rlmA', '--email', 'carl@example.com']
  expect(await satchel(...invited)).toMatch(/^carl@example\.com in rlmA: invited \(member \S+\)\n$/)
  const { data } = await json<{ data: object[] }>('member', 'list', '--realm', 'rlmA')
  expect(data).toHaveLength(2)
  const changed = await satchel('member', 'update', bob.id, '--roles', '')
  expect(changed).toBe(`${BOB} in rlmA: accepted (member ${bob.id})\n`)
  expect(await satchel('member', 'list', '--user', BOB)).toMatch(/rlmA +bob@example\.com +accepted/)
  expect(await satchel('member', 'remove', bob.id)).toBe(`The member ${bob.id} is removed\n`)
  expect(await satchel('role', 'remove', 'editor', '--realm', 'rlmA')).toBe(
    'The role editor of rlmA is removed\n',
  )
})

test('sharing commands say what is wrong with an argument', async () => {
  await using server = await setupData()
  const { satchel } = on(server)
  expect(await satchel('member', 'add', 'rlmA')).toContain('Give a user, or the address')
  expect(await satchel('role', 'put', 'a', '--permissions', '[]')).toContain(
    'it must be an object as JSON',
  )
  expect(await satchel('member', 'resend', 'mbrX')).toContain('There is no object with this key')
})
