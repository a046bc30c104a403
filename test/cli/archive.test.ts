import { describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { filesIn, pictureArchive } from '../domain/transfer/archive-setup'
import { setupServer, temporaryFolder } from '../setup'
import { runJson, runSatchel, type Scene } from './setup'

/** A data folder with two databases, served or not. */
async function setup(isServed: boolean) {
  await using undo = new AsyncDisposableStack()
  const folder = undo.use(temporaryFolder())
  mkdirSync(join(folder.path, 'data'))
  const data = ['--data', join(folder.path, 'data')]
  if (isServed) undo.use(await setupServer({ data: data[1] }))
  else await runJson(['db', 'create', 'main', ...data])
  await runJson(['db', 'create', 'copy', ...data])
  const parts = undo.move()
  const run = (args: readonly string[], scene?: Scene) => runSatchel([...args, ...data], scene)
  return {
    run,
    data,
    file: (name: string) => join(folder.path, name),
    path: folder.path,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

describe.each([
  ['without a server', false],
  ['with a running server', true],
])('%s', (_name, isServed) => {
  test('a zip takes blobs from one database to another', async () => {
    await using satchel = await setup(isServed)
    const { run, file } = satchel
    const input = await pictureArchive()
    const imported = await run(['import', '-'], { input })
    expect(imported).toEqual({
      exitCode: 0,
      stdout: 'Imported 1 object, 1 blob, 1 table\n',
      stderr: '',
    })
    const exported = await run(['export', file('all.zip')])
    expect(exported.stdout).toBe(`Exported 1 object and 1 blob to ${file('all.zip')}\n`)
    const rehearsed = await run(['import', file('all.zip'), '--db', 'copy', '--dry-run'])
    expect(rehearsed.stdout).toBe(
      'The file is valid: 1 object, 1 blob, 1 table. Nothing was changed\n',
    )
    const copied = await run(['import', file('all.zip'), '--db', 'copy', '--atomic'])
    expect(copied.stdout).toBe('Imported 1 object, 1 blob, 1 table\n')
    const output: Buffer[] = []
    const printed = await run(['export', '--format', 'zip', '--db', 'copy'], { output })
    expect(printed.stderr).toBe('')
    const [bytes, copy] = [await Bun.file(file('all.zip')).bytes(), Buffer.concat(output)]
    expect(await filesIn(copy)).toEqual(await filesIn(bytes))
  })

  test('a text says which blobs it leaves out', async () => {
    await using satchel = await setup(isServed)
    const { run, file, data } = satchel
    await run(['import', '-'], { input: await pictureArchive() })
    const sentence = '1 blob left out: only a zip can hold blobs (--format zip)\n'
    for (const name of ['all.ndjson', 'all.json', 'all.txt']) {
      const { stdout } = await run(['export', file(name)])
      expect(stdout).toBe(`Exported 1 object to ${file(name)}\n${sentence}`)
    }
    const printed = await run(['export', '--table', 'files'])
    expect(printed.stderr).toBe(`satchel: ${sentence}`)
    expect(printed.stdout).toEndWith('}\n')
    const none = await run(['export', '--realm', 'rlm-nowhere'])
    expect(none.stderr).toBe('')
    const json = await runJson<unknown>(['export', file('all.json'), ...data])
    expect(json).toEqual({ objects: 1, blobs: 0, leftOut: 1, damaged: [] })
  })

  test('a zip that is not good is refused, and nothing of it stays', async () => {
    await using satchel = await setup(isServed)
    const { run, path } = satchel
    const archive = await pictureArchive()
    const refused = await run(['import', '-'], { input: archive.subarray(0, -1) })
    expect(refused).toMatchObject({ exitCode: 1, stdout: '' })
    expect(refused.stderr).toBe('satchel: The zip is damaged: its end is missing\n')
    expect(readdirSync(join(path, 'data/databases/main/imports'))).toEqual([])
    const target = ['--table', 'files', '--realm', 'rlm-public']
    const plain = await run(['import', '-', ...target], { input: archive })
    expect(plain.stderr).toContain('leave out --table')
  })
})

test('a zip is not shown to people', async () => {
  await using satchel = await setup(false)
  const shown = await satchel.run(['export', '--format', 'zip'], { isOutputTerminal: true })
  expect(shown).toMatchObject({ exitCode: 2, stdout: '' })
  expect(shown.stderr).toContain('name a file')
})

test('an export that fails leaves no file, and the one before as it was', async () => {
  await using satchel = await setup(false)
  const { run, file, path } = satchel
  await run(['import', '-'], { input: await pictureArchive() })
  await Bun.write(file('all.zip'), 'the one before')
  const blobs = join(path, 'data/databases/main/blobs')
  const names = readdirSync(blobs, { recursive: true, encoding: 'utf8' })
  const content = names.find((name) => /^[\da-f]{64}$/.test(name)) ?? ''
  await Bun.write(join(blobs, content), 'the bytes of a PICTURE')
  const failed = await run(['export', file('all.zip')])
  expect(failed.exitCode).toBe(1)
  expect(failed.stderr).toContain('The bytes of the blob "pic" are missing or damaged')
  expect(await Bun.file(file('all.zip')).text()).toBe('the one before')
  expect(readdirSync(path).filter((name) => name.includes('.part'))).toEqual([])
})
