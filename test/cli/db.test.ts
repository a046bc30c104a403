import { expect, test } from 'bun:test'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { copyFolder } from '../sqlite/folders'
import { setupServer, temporaryFolder, startAgain } from '../setup'
import { runJson, runSatchel } from './setup'

// promises.md 13
test('a copy of a database folder is not served until it is adopted, then tokens open one of the two', async () => {
  using folder = temporaryFolder()
  const data = join(folder.path, 'data')
  let token = ''
  {
    await using server = await setupServer({ data })
    token = await server.token()
  }
  copyFolder(join(data, 'databases', 'main'), join(data, 'databases', 'copy'))
  await using server = await startAgain(data)
  const ask = async (database: string) => {
    const answer = await fetch(`${server.url}/${database}/all/realms`, {
      headers: { authorization: `Bearer ${token}` },
    })
    const { code = null } = (await answer.json()) as { code?: string }
    return [answer.status, code]
  }
  expect(await ask('copy')).toEqual([503, 'COPIED_DATABASE'])
  expect(await ask('main')).toEqual([200, null])
  expect((await fetch(`${server.url}/ready`)).status).toBe(200)
  expect(server.lines.join('\n')).toContain('satchel db adopt copy')
  await runJson(['db', 'adopt', 'copy', '--data', data])
  expect(await ask('copy')).toEqual([401, 'INVALID_TOKEN'])
  expect(await ask('main')).toEqual([200, null])
})

test('satchel db undelete takes back what dexie-cloud delete did', async () => {
  using folder = temporaryFolder()
  const data = join(folder.path, 'data')
  await using server = await setupServer({ data })
  const token = await server.token({ scopes: ['DELETE_DB'] })
  const marked = await fetch(`${server.main}/delete-db`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{}',
  })
  expect(marked.status).toBe(200)
  const undelete = () => runJson(['db', 'undelete', 'main', '--data', data])
  expect(await undelete()).toEqual({ name: 'main', wasDeleted: true })
  expect(await undelete()).toEqual({ name: 'main', wasDeleted: false })
})

test('a data folder with a wrong name is not made, and a named one may be empty', async () => {
  using folder = temporaryFolder()
  const data = join(folder.path, 'typo')
  const create = () => runSatchel(['db', 'create', 'todo', '--data', data, '--json'])
  const refused = await create()
  expect(refused.exitCode).not.toBe(0)
  expect(refused.stderr).toContain(`There is no data folder ${data}`)
  expect(refused.stderr).toContain('create it with mkdir or satchel serve')
  expect(existsSync(data)).toBe(false)
  mkdirSync(data)
  expect((await create()).exitCode).toBe(0)
  expect(existsSync(join(data, 'databases', 'todo'))).toBe(true)
})
