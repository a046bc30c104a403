import { expect, test } from 'bun:test'
import { ALICE, BOB, type DataServer, setupData } from '../http/setup'
import { runJson, runSatchel } from './setup'

const at = ({ folder }: DataServer) => ['--data', folder]

/** Two objects that everybody sees, and one in a realm of Alice and Bob. */
async function setup() {
  const server = await setupData()
  const { root } = server
  for (const id of ['a', 'b']) {
    await root.post('/all/plain', { id, realmId: 'rlm-public', title: '\u001b[2J' })
  }
  await root.post('/all/realms', { realmId: 'rlmA', owner: ALICE })
  const accepted = '2030-01-01T00:00:00.000Z'
  const bob = { id: 'mbrB', realmId: 'rlmA', userId: BOB, accepted, roles: ['doer'] }
  await root.post('/all/members', bob)
  await root.post('/all/plain', { id: 'c', realmId: 'rlmA', owner: ALICE })
  return server
}

test('object list pages through a table', async () => {
  await using server = await setup()
  const list = (...args: string[]) => ['object', 'list', 'plain', ...args, ...at(server)]
  const { stdout } = await runSatchel(list('--newest', '--limit', '2'))
  expect(stdout).toStartWith('KEY')
  expect(stdout).not.toContain('\u001b')
  expect(stdout.trimEnd().replaceAll(/^(.).*/gm, '$1')).toBe('K\nc\nb\nT')
  const [, cursor = ''] = /--after '(.*)'/.exec(stdout) ?? []
  const next = await runSatchel(list('--newest', '--after', cursor))
  expect(next.stdout.split('\n')[1]).toStartWith('a ')
  const found = await runJson<{ data: { key: string; updated: string }[] }>(
    list('--filter', 'realmId=rlmA'),
  )
  expect(found.data).toMatchObject([{ key: 'c', updated: '2030-01-01T12:00:00.000Z' }])
  const none = await runSatchel(list('--search', 'nothing'))
  expect(none.stdout).toBe('There are no objects\n')
})

test('object show prints an object, without its control characters', async () => {
  await using server = await setup()
  const { stdout } = await runSatchel(['object', 'show', 'plain', 'a', ...at(server)])
  expect(stdout).toStartWith(
    'Key             a\nRealm           rlm-public\nOwner           none\n',
  )
  expect(stdout).toContain('"title": "\\u001b[2J"')
  const shown = await runJson<object>(['object', 'show', 'plain', 'a', ...at(server)])
  expect(shown).toMatchObject({ key: 'a', value: { title: '\u001b[2J' } })
  const unknown = await runSatchel(['object', 'show', 'plain', 'x', ...at(server)])
  expect(unknown).toMatchObject({
    exitCode: 1,
    stderr: 'satchel: There is no object with this key\n',
  })
})

test('object seers lists users with the row that is the reason', async () => {
  await using server = await setup()
  const seers = (key: string) => runSatchel(['object', 'seers', 'plain', key, ...at(server)])
  const { stdout } = await seers('c')
  expect(stdout).toMatch(/bob@example\.com +member +mbrB +doer/)
  expect(stdout).toMatch(/alice@example\.com +owner of the realm/)
  expect((await seers('a')).stdout).toStartWith('Everybody sees it')
})

test('object delete removes an object, unless it was changed meanwhile', async () => {
  await using server = await setup()
  const remove = (...args: string[]) =>
    runSatchel(['object', 'delete', 'plain', 'a', ...args, ...at(server)])
  const stale = await remove('--if-revision', '1')
  expect(stale.exitCode).toBe(1)
  expect(stale.stderr).toContain('was changed meanwhile')
  expect((await remove()).stdout).toBe('The object a is deleted\n')
  expect((await remove()).exitCode).toBe(1)
})
