import { expect, test } from 'bun:test'
import { chownSync, linkSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { diskError, hasErrno, inheritOwner, makeFolder, syncPath, syncPathNow } from '../src/disk'
import { SatchelError } from '../src/domain/value/error'
import { runJson } from './cli/setup'
import { setupServer, temporaryFolder } from './setup'

const errno = (code: string) => Object.assign(new Error(`${code}: /data/x`), { code })

test('translates the kinds of errors that have a message, and keeps the original as the cause', () => {
  const full = errno('ENOSPC')
  const told = diskError(full, { STORAGE_FULL: 'The disk is full' })
  expect(told).toMatchObject({ code: 'STORAGE_FULL', message: 'The disk is full', cause: full })
  expect(diskError(full, { READ_ONLY: 'Read only' })).toBe(full)
})

test('gives everything else back as it is', () => {
  const messages = { STORAGE_FULL: 'x', READ_ONLY: 'x', STORAGE_FAILED: 'x', BUSY: 'x' }
  for (const error of [
    errno('EUNKNOWN'),
    new Error('plain'),
    new SatchelError('CONFLICT', 'c'),
    1,
  ]) {
    expect(diskError(error, messages)).toBe(error)
  }
})

test('asks to repeat the request later when too many files are open', () => {
  expect(diskError(errno('EMFILE'), { BUSY: 'Repeat it' })).toMatchObject({ retryAfter: 2 })
})

test('knows an error of the file system by its code', () => {
  expect(hasErrno(errno('ENOENT'), 'EEXIST', 'ENOENT')).toBe(true)
  expect(hasErrno(errno('ENOENT'), 'EEXIST')).toBe(false)
  expect(hasErrno(new Error('ENOENT'), 'ENOENT')).toBe(false)
})

test('syncs files and folders, and reports a missing one', async () => {
  using folder = temporaryFolder()
  const file = `${folder.path}/file`
  await Bun.write(file, 'x')
  for (const path of [file, folder.path]) {
    await syncPath(path)
    syncPathNow(path)
  }
  const missing = `${folder.path}/missing`
  expect(syncPath(missing)).rejects.toThrow('ENOENT')
  expect(() => syncPathNow(missing)).toThrow('ENOENT')
})

const isRoot = process.getuid?.() === 0
const SERVICE = 65_534

/** What a folder holds that is not the property of the service's user. */
function strangersIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true }).map(String)
  return names.filter((name) => statSync(join(folder, name)).uid !== SERVICE)
}

test.if(isRoot)("root's work in the folder of a service leaves files of its user", async () => {
  using folder = temporaryFolder()
  const data = join(folder.path, 'data')
  makeFolder(data)
  chownSync(data, SERVICE, SERVICE)
  {
    await using server = await setupServer({ data })
    const headers = { authorization: `Bearer ${await server.token()}` }
    const upload = { method: 'PUT', headers, body: 'bytes' }
    expect((await fetch(`${server.main}/blob/one`, upload)).status).toBe(200)
    // Root commands its own server alone: the socket ends with it.
    expect(strangersIn(data)).toEqual(['control.sock'])
  }
  await runJson(['db', 'create', 'other', '--data', data])
  const lines = ['import', '-', '--table', 'realms', '--realm', 'rlm-public', '--dry-run']
  await runJson([...lines, '--data', data], { input: '[]' })
  expect(readdirSync(join(data, 'databases', 'main'))).toContain('imports')
  expect(strangersIn(data)).toEqual([])
})

test.if(isRoot)('root gives away no file that the owner of the folder put there', () => {
  using folder = temporaryFolder()
  using elsewhere = temporaryFolder()
  chownSync(folder.path, SERVICE, SERVICE)
  const secret = join(elsewhere.path, 'secret')
  writeFileSync(secret, 'of root')
  const [symbolic, hard] = [join(folder.path, 'symbolic'), join(folder.path, 'hard')]
  symlinkSync(secret, symbolic)
  linkSync(secret, hard)
  expect(() => inheritOwner(symbolic)).toThrow()
  inheritOwner(hard)
  expect(statSync(secret).uid).toBe(0)
})
