import { expect, test } from 'bun:test'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { version } from '../../package.json'
import { writeHolder } from '../../src/host/holder'
import { lockFolder } from '../../src/sqlite/lock'
import { createTestClock } from '../auth/setup'
import { setupDataFolder } from '../control/setup'
import { setupServer, temporaryFolder, startAgain } from '../setup'
import { until } from '../timing'
import { runJson, runSatchel } from './setup'

interface Shown {
  readonly state: string
  readonly databases: readonly { readonly name: string; readonly bytes: number }[]
  readonly lastBackup: string | null
  readonly jobs: unknown
}

const status = (folder: string) => runSatchel(['status', '--json', '--data', folder])

test('shows a server that runs, with its databases, sockets, jobs and disk', async () => {
  await using server = await setupServer()
  const shown = await runJson<Shown>(['status', '--data', server.folder])
  const found: object = shown
  expect(found).toEqual({
    state: 'running',
    version,
    pid: process.pid,
    url: server.url,
    since: '2030-01-01T12:00:00.000Z',
    folder: server.folder,
    databases: [
      {
        name: 'main',
        url: server.main,
        bytes: expect.any(Number),
        logBytes: expect.any(Number),
        blobs: 0,
        blobBytes: 0,
      },
    ],
    sockets: 0,
    jobs: { running: 0, stopped: 0 },
    lastBackup: null,
    backups: null,
    certificate: null,
    disk: { freeBytes: expect.any(Number), sizeBytes: expect.any(Number) },
  })
  expect(shown.databases[0]?.bytes).toBeGreaterThan(0)
})

test('says it in lines at a terminal', async () => {
  await using server = await setupServer()
  const { stdout, exitCode } = await runSatchel(['status', '--data', server.folder])
  expect(exitCode).toBe(0)
  expect(stdout).toMatch(/^Server {10}running since \d{4}-.+, version \S+, process \d+\n/)
  expect(stdout).toContain(`Address         ${server.url}\n`)
  expect(stdout).toContain('Last backup     none is known\n')
  expect(stdout).toMatch(/\nDATABASE +SIZE +LOG +BLOBS\nmain +\S+ kB +.+ +0 \(0 bytes\)\n$/)
})

test('names the last backup, also when the server is stopped', async () => {
  using backups = temporaryFolder()
  using folder = temporaryFolder()
  {
    await using server = await setupServer({ data: folder.path })
    await runJson(['backup', backups.path, '--data', server.folder])
    const { lastBackup } = await runJson<Shown>(['status', '--data', server.folder])
    expect(lastBackup).toBe('2030-01-01T12:00:00.000Z')
  }
  const { stdout, exitCode } = await status(folder.path)
  expect(exitCode).toBe(3)
  expect(JSON.parse(stdout)).toMatchObject({
    state: 'stopped',
    version: null,
    pid: null,
    url: null,
    databases: [{ name: 'main', bytes: expect.any(Number), logBytes: 0 }],
    sockets: null,
    jobs: null,
    lastBackup: '2030-01-01T12:00:00.000Z',
    certificate: null,
  })
})

test('shows scheduled backups and why they fail', async () => {
  using folder = temporaryFolder()
  using parent = temporaryFolder()
  const backup = join(parent.path, 'backups')
  writeFileSync(backup, 'a file in the place of the folder')
  const works: (() => void)[] = []
  const every = (_ms: number, work: () => void) => {
    works.push(work)
    return { [Symbol.dispose]() {} }
  }
  await using _ = await startAgain(folder.path, createTestClock(), { backup }, { every })
  for (const work of works) work()
  await until(async () => (await status(folder.path)).stdout.includes('"attempts":1'))
  const { stdout } = await runSatchel(['status', '--data', folder.path])
  expect(stdout).toContain(`Next backup     2030-01-01 12:05 UTC to ${backup}\n`)
  expect(stdout).toMatch(/\nFailed backup {3}\S/)
})

test('says that another process has the folder without answering', async () => {
  using folder = temporaryFolder()
  using _ = lockFolder(folder.path)
  writeHolder(folder.path, { pid: 4711, host: 'elsewhere', address: null, token: null })
  const { stdout, exitCode } = await runSatchel(['status', '--data', folder.path])
  expect(exitCode).toBe(3)
  expect(stdout).toContain('process 4711 on elsewhere has the data folder and answers no commands')
  expect(JSON.parse((await status(folder.path)).stdout)).toMatchObject({ state: 'busy' })
})

test('takes a server that was killed for stopped, and changes nothing in its folder', async () => {
  using folder = temporaryFolder()
  await using made = await setupDataFolder(folder.path)
  await made.hosts.create('main')
  await made[Symbol.asyncDispose]()
  const address = join(folder.path, 'control.sock')
  writeHolder(folder.path, { pid: 4711, host: 'here', address, token: 'gone' })
  const before = new Bun.Glob('**').scanSync({ cwd: folder.path, dot: true })
  const names = [...before].toSorted()
  expect(JSON.parse((await status(folder.path)).stdout)).toMatchObject({ state: 'stopped' })
  const after = [...new Bun.Glob('**').scanSync({ cwd: folder.path, dot: true })].toSorted()
  expect(after).toEqual(names)
})

test('an empty folder has no databases, and one that is missing is an error', async () => {
  using folder = temporaryFolder()
  const empty = await runSatchel(['status', '--data', folder.path])
  expect(empty.exitCode).toBe(3)
  expect(empty.stdout).toStartWith('Server          stopped\n')
  expect(empty.stdout).toEndWith('There are no databases\n')
  mkdirSync(join(folder.path, 'databases', 'empty'), { recursive: true })
  writeFileSync(join(folder.path, 'server.sqlite'), 'damaged')
  expect(JSON.parse((await status(folder.path)).stdout)).toMatchObject({
    databases: [],
    lastBackup: null,
  })
  rmSync(folder.path, { recursive: true })
  expect(await runSatchel(['status', '--data', folder.path])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('There is no data folder'),
  })
})
