import { expect, test } from 'bun:test'
import { temporaryFolder } from '../setup'
import { runJson, runSatchel } from './setup'

const TABLES = { todoItems: '@id, title, todoListId', pairs: '[a+b], c', old: '@id' }

async function setup() {
  const folder = temporaryFolder()
  const data = ['--data', folder.path]
  await runJson(['db', 'create', 'main', ...data])
  return {
    push: (file: string, ...options: string[]) =>
      runSatchel(['schema', 'push', '-', ...options, ...data], { input: file }),
    show: () => runSatchel(['schema', 'show', ...data]),
    showJson: () => runJson<unknown>(['schema', 'show', ...data]),
    import: (file: string, ...options: string[]) =>
      runJson(['import', '-', ...options, ...data], { input: file }),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

test('pushes a schema, says what that changed, and shows it so that it can be pushed again', async () => {
  using satchel = await setup()
  expect(await satchel.push(JSON.stringify(TABLES))).toEqual({
    exitCode: 0,
    stdout: 'Created todoItems, pairs, old\n',
    stderr: '',
  })
  const next = { schema: { old: null, pairs: '[a+b], c, d', more: 'id' } }
  expect((await satchel.push(JSON.stringify(next))).stdout).toBe(
    'Created more\nChanged pairs\nHid old\n',
  )
  const shown = await satchel.show()
  const schema = { todoItems: TABLES.todoItems, ...next.schema }
  expect(JSON.parse(shown.stdout)).toEqual(schema)
  expect((await satchel.push(shown.stdout)).stdout).toBe('Nothing changed\n')
  expect(await satchel.showJson()).toEqual({
    schema,
    hidden: { old: '@id' },
    sealed: false,
    building: [],
  })
  expect((await satchel.push('{"old": "@id"}')).stdout).toBe('Changed old\n')
})

test('says which indexes are being built, and waits for them when told to', async () => {
  using satchel = await setup()
  await satchel.push('{"cities": "id"}')
  const rows = Array.from({ length: 3_000 }, (_, n) => ({ id: `c${n}`, country: 'SE' }))
  await satchel.import(JSON.stringify(rows), '--table', 'cities', '--realm', 'rlm-public')
  const pushed = await satchel.push('{"cities": "id, country"}')
  expect(pushed).toEqual({
    exitCode: 0,
    stdout: 'Changed cities\n',
    stderr: expect.stringMatching(
      /^The index country of cities is being built \([\d,]+ objects of 3,000\); filters work without it\n$/,
    ),
  })
  expect(await satchel.push('{"cities": "id, country, name"}', '--wait')).toEqual({
    exitCode: 0,
    stdout: 'Changed cities\n',
    stderr: '',
  })
  expect(await satchel.showJson()).toMatchObject({ building: [] })
})

test('says that a database is sealed', async () => {
  using satchel = await setup()
  await satchel.import('{"schema": {"cities": "@id"}, "sealed": true}')
  const shown = await satchel.show()
  expect(shown.stderr).toBe('The database is sealed: clients cannot add tables\n')
  expect(await satchel.showJson()).toMatchObject({ sealed: true })
})

test('refuses a broken schema with line and column and changes nothing', async () => {
  using satchel = await setup()
  const broken = await satchel.push('{\n  "good": "@id",\n  "bad": "++id"\n}')
  expect(broken).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/line 3.*column/) })
  const noJson = await satchel.push('{"a": ')
  expect(noJson).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('line 1') })
  expect((await satchel.show()).stdout).toBe('{}\n')
})
