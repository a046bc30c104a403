import { expect, test } from 'bun:test'
import {
  chownSync,
  closeSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { createFile, createOwnFile, refuseForeignLink } from '../../src/disk'
import { thisProcess, writeHolder } from '../../src/host/holder'
import { openDatabaseFile } from '../../src/sqlite/private-file'
import { runJson } from '../cli/setup'
import { temporaryFolder } from '../setup'

/** The owner of a data folder may plant links in it, and wait for a command of root (design.md §2). */

const isRoot = process.getuid?.() === 0
const SERVICE = 65_534

test('a new file follows no link and replaces nothing', () => {
  using folder = temporaryFolder()
  const [victim, link, dangling] = ['victim', 'link', 'dangling'].map((name) =>
    join(folder.path, name),
  ) as [string, string, string]
  writeFileSync(victim, 'mine')
  symlinkSync(victim, link)
  symlinkSync(join(folder.path, 'none'), dangling)
  for (const create of [createFile, createOwnFile]) {
    for (const path of [victim, link, dangling]) {
      expect(() => create(path)).toThrow('EEXIST')
    }
    const path = join(folder.path, 'new')
    const file = create(path)
    writeSync(file, 'new')
    closeSync(file)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readFileSync(path, 'utf8')).toBe('new')
    rmSync(path)
  }
  expect(readFileSync(victim, 'utf8')).toBe('mine')
  expect(existsSync(join(folder.path, 'none'))).toBe(false)
})

test('a link that is planted again and again never leads the file of the holder elsewhere', async () => {
  using folder = temporaryFolder()
  const victim = join(folder.path, 'victim')
  writeFileSync(victim, 'mine')
  const data = join(folder.path, 'data')
  mkdirSync(data)
  const script = `
    const { symlinkSync } = require('node:fs')
    postMessage('ready')
    for (;;) {
      try { symlinkSync(${JSON.stringify(victim)}, ${JSON.stringify(join(data, 'holder.json.new'))}) } catch {}
    }`
  const planter = new Worker(URL.createObjectURL(new Blob([script])))
  try {
    await new Promise((resolve) => planter.addEventListener('message', resolve, { once: true }))
    let refused = 0
    for (let count = 0; count < 20_000 && refused < 100; count += 1) {
      try {
        writeHolder(data, thisProcess())
      } catch (error) {
        refused += 1
        expect(error).toMatchObject({
          code: 'READ_ONLY',
          message: expect.stringContaining('Another program has just made'),
        })
      }
    }
    expect(readFileSync(victim, 'utf8')).toBe('mine')
  } finally {
    planter.terminate()
  }
})

test('SQLite follows no link either, but for those that lead to the folder', () => {
  using folder = temporaryFolder()
  const real = join(folder.path, 'real')
  mkdirSync(real)
  openDatabaseFile(join(real, 'a.sqlite'), 'create').close()
  symlinkSync(real, join(folder.path, 'link'))
  openDatabaseFile(join(folder.path, 'link', 'a.sqlite'), 'write').close()
  symlinkSync(join(real, 'a.sqlite'), join(real, 'b.sqlite'))
  symlinkSync(join(folder.path, 'none'), join(real, 'c.sqlite'))
  for (const mode of ['create', 'write', 'read'] as const) {
    for (const name of ['b.sqlite', 'c.sqlite']) {
      expect(() => openDatabaseFile(join(real, name), mode)).toThrow(
        `${name} is a link, which is not followed`,
      )
    }
  }
  expect(existsSync(join(folder.path, 'none'))).toBe(false)
})

/** A data folder of another user with a database, and a folder of root with a file. */
async function setup() {
  const folder = temporaryFolder()
  const data = join(folder.path, 'data')
  mkdirSync(data)
  chownSync(data, SERVICE, SERVICE)
  await runJson(['db', 'create', 'main', '--data', data])
  const roots = join(folder.path, 'roots')
  mkdirSync(roots)
  // The name of a temporary file, of a blob and of a database.
  mkdirSync(join(roots, 'main'))
  const blob = 'a'.repeat(64)
  for (const name of ['0-AAAAAAAAAAAAAAAA.ndjson', blob, 'ca-certificates', 'main/x']) {
    writeFileSync(join(roots, name), 'mine')
  }
  const contents = () => readdirSync(roots, { recursive: true }).map(String).toSorted()
  return {
    data,
    roots,
    before: contents(),
    contents,
    /** Puts a link of the owner in the place of a folder. */
    plant(...path: readonly string[]) {
      const link = join(data, ...path)
      rmSync(link, { recursive: true, force: true })
      symlinkSync(roots, link)
      lchownSync(link, SERVICE, SERVICE)
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

const IMPORT = ['import', '-', '--table', 'realms', '--realm', 'rlm-public']

test.if(isRoot).each([
  ['the folder of temporary files', ['databases', 'main', 'imports']],
  ['the folder of blobs', ['databases', 'main', 'blobs']],
  ['the folder of a database', ['databases', 'main']],
  ['the folder of databases', ['databases']],
])(
  'root neither writes nor removes anything where a link in place of %s leads',
  async (_, path) => {
    using scene = await setup()
    scene.plant(...path)
    await runJson([...IMPORT, '--data', scene.data], { input: '[]' }).catch(() => undefined)
    await runJson(['blob', 'gc', '--data', scene.data]).catch(() => undefined)
    expect(scene.contents()).toEqual(scene.before)
    expect(() => refuseForeignLink(join(scene.data, ...path))).toThrow('a link of another user')
  },
)

test.if(isRoot)('root removes no folder that a leftover links to', async () => {
  using scene = await setup()
  scene.plant('databases', '.removed-other-1')
  await runJson(['db', 'list', '--data', scene.data])
  expect(scene.contents()).toEqual(scene.before)
})

test.if(isRoot)('links of root itself are followed: a folder may be on another disk', async () => {
  using scene = await setup()
  const blobs = join(scene.data, 'databases', 'main', 'blobs')
  const elsewhere = join(dirname(scene.roots), 'disk')
  if (existsSync(blobs)) renameSync(blobs, elsewhere)
  else mkdirSync(elsewhere)
  symlinkSync(elsewhere, blobs)
  expect(() => refuseForeignLink(blobs)).not.toThrow()
  const blob = await runJson(['blob', 'list', '--data', scene.data])
  expect(blob).toMatchObject({ data: [] })
})
