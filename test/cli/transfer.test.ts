import { describe, expect, test } from 'bun:test'
import {
  chmodSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { importLeft } from '../../src/cli/transfer'
import { setupServer, temporaryFolder } from '../setup'
import { runJson, runSatchel } from './setup'

const SCHEMA = '{"cities": "@id, country", "pairs": "[a+b]"}'
const CITIES = '[{"name": "Malmö", "country": "SE"}, {"name": "Oslo", "country": "NO"}]'

async function setup() {
  const folder = temporaryFolder()
  mkdirSync(join(folder.path, 'data'))
  const data = ['--data', join(folder.path, 'data')]
  for (const name of ['main', 'copy']) await runJson(['db', 'create', name, ...data])
  await runJson(['schema', 'push', '-', ...data], { input: SCHEMA })
  return {
    data,
    file: (name: string) => join(folder.path, name),
    path: folder.path,
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

test('imports a plain list, exports it, imports that elsewhere, exports the same bytes', async () => {
  using satchel = await setup()
  const { data, file } = satchel
  const list = ['import', '-', '--table', 'cities', '--realm', 'rlm-public', ...data]
  const imported = await runSatchel(list, { input: CITIES })
  expect(imported).toEqual({ exitCode: 0, stdout: 'Imported 2 objects\n', stderr: '' })
  const exported = await runSatchel(['export', file('one.ndjson'), ...data])
  expect(exported.stdout).toBe(`Exported 2 objects to ${file('one.ndjson')}\n`)
  const copied = await runJson<unknown>(['import', file('one.ndjson'), '--db', 'copy', ...data])
  expect(copied).toEqual({
    objects: 2,
    deleted: 0,
    demoUsers: 0,
    blobs: 0,
    tables: 2,
    followed: null,
    resumed: [],
  })
  const printed = await runSatchel(['export', '--db', 'copy', ...data])
  expect(printed.stdout).toBe(readFileSync(file('one.ndjson'), 'utf8'))
  expect(printed.stdout).toContain('Malmö')
})

test('exports the JSON file when that is what its name says, and imports it', async () => {
  using satchel = await setup()
  const { data, file } = satchel
  const list = ['import', '-', '--table', 'cities', '--realm', 'rlm-public', ...data]
  await runJson(list, { input: CITIES })
  expect(await runJson<unknown>(['export', file('all.json'), ...data])).toEqual({
    objects: 2,
    blobs: 0,
    leftOut: 0,
    damaged: [],
  })
  const content = JSON.parse(readFileSync(file('all.json'), 'utf8')) as Record<string, unknown>
  expect(content['schema']).toEqual({ cities: '@id, country', pairs: '[a+b]' })
  await runJson(['import', file('all.json'), '--db', 'copy', ...data])
  const again = await runSatchel(['export', '--format', 'json', '--db', 'copy', ...data])
  expect(again.stdout).toBe(readFileSync(file('all.json'), 'utf8'))
})

test('exports a table or a realm', async () => {
  using satchel = await setup()
  const { data } = satchel
  const list = ['import', '-', '--table', 'cities', '--realm', 'rlm-public', ...data]
  await runJson(list, { input: CITIES })
  const linesOf = async (...selection: string[]) =>
    (await runSatchel(['export', ...selection, ...data])).stdout
      .split('\n')
      .filter((line) => line.includes('"id":'))
  expect(await linesOf('--table', 'cities')).toHaveLength(2)
  expect(await linesOf('--table', 'pairs')).toHaveLength(0)
  expect(await linesOf('--realm', 'rlm-public')).toHaveLength(2)
  expect(await linesOf('--realm', 'rlm-other')).toHaveLength(0)
  expect(await linesOf('--table', 'cities', '--filter', 'country=SE')).toHaveLength(1)
  const [oslo = ''] = await linesOf('--table', 'cities', '--search', 'OSLO')
  const { id } = JSON.parse(oslo) as { id: string }
  expect(await linesOf('--table', 'cities', '--prefix', id)).toEqual([oslo])
  const unknown = await runSatchel(['export', '--table', 'none', ...data])
  expect(unknown).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringContaining('"none"'),
  })
})

test('a file that is not good changes nothing and its place is named', async () => {
  using satchel = await setup()
  const { data } = satchel
  const before = (await runSatchel(['export', ...data])).stdout
  const list = ['import', '-', '--table', 'cities', '--realm', 'rlm-public', ...data]
  for (const [args, input, sentence] of [
    [list, '[{"name": "Malmö"}, {"name": 1e999}]', '[1]'],
    [list, '[{"name": "Malmö"}, 7]', '[1]'],
    [list, '[{"name": "Malmö"},', 'line 1'],
    [['import', '-', ...data], CITIES, '--table'],
    [['import', '-', ...data], '{"schema": {"bad": "++id"}}', 'bad'],
    [['import', '-', ...data], '{"data": {"rlm-none": {"cities": {"c1": {}}}}}', 'rlm-none'],
  ] as const) {
    const refused = await runSatchel(args, { input })
    expect(refused).toMatchObject({ exitCode: 1, stdout: '' })
    expect(refused.stderr).toContain(sentence)
  }
  expect((await runSatchel(['export', ...data])).stdout).toBe(before)
})

test('a dry run and an atomic import say the same as a plain one', async () => {
  using satchel = await setup()
  const { data } = satchel
  const list = ['import', '-', '--table', 'cities', '--realm', 'rlm-public', ...data]
  const dry = await runSatchel([...list, '--dry-run'], { input: CITIES })
  expect(dry.stdout).toBe('The file is valid: 2 objects. Nothing was changed\n')
  expect(await runJson<unknown>([...list, '--dry-run'], { input: CITIES })).toMatchObject({
    objects: 2,
  })
  expect((await runSatchel(['export', ...data])).stdout).not.toContain('Oslo')
  expect(await runJson<unknown>([...list, '--atomic'], { input: CITIES })).toMatchObject({
    objects: 2,
  })
  expect((await runSatchel(['export', ...data])).stdout).toContain('Oslo')
})

describe('a file with more in it than a server takes unless told', () => {
  const deep = `${'['.repeat(80)}${']'.repeat(80)}`
  const CASES = [
    ['depth', { maxDepth: 100 }, `[{"country": "SE", "map": ${deep}}]`, 'deeper than 64 levels'],
    ['lines', { maxDepth: 100 }, `{"country": "SE", "map": ${deep}}\n`, 'deeper than 64 levels'],
    [
      'values',
      { maxValues: 1_100_000 },
      `[{"country": "SE", "map": [${'0,'.repeat(1_000_000)}0]}]`,
      'more than 1000000 values',
    ],
  ] as const

  test.each(CASES)('is refused: %s', async (_name, _limits, list, sentence) => {
    using satchel = await setup()
    const args = ['import', '-', '--table', 'cities', '--realm', 'rlm-public', ...satchel.data]
    const refused = await runSatchel(args, { input: list })
    expect(refused).toMatchObject({ exitCode: 1, stdout: '' })
    expect(refused.stderr).toContain(sentence)
  })

  // Six passes over a million values: more than five seconds on a busy machine.
  test.each(CASES)('comes in where the settings allow it: %s', async (_name, limits, list) => {
    using satchel = await setup()
    const { data, file } = satchel
    writeFileSync(file('satchel.json'), JSON.stringify(limits))
    const config = ['--config', file('satchel.json')]
    const args = ['import', '-', '--table', 'cities', '--realm', 'rlm-public', ...data]
    expect(await runJson<unknown>([...args, ...config], { input: list })).toMatchObject({
      objects: 1,
    })
    for (const format of ['ndjson', 'json']) {
      await runJson(['export', file(`all.${format}`), ...data])
      const copy = ['import', file(`all.${format}`), '--db', 'copy', ...data, ...config]
      expect(await runJson<unknown>(copy)).toMatchObject({ objects: 1 })
    }
  })

  test('comes in through a server that allows it', async () => {
    await using server = await setupServer({ maxDepth: '100' })
    const data = ['--data', server.folder]
    await runJson(['schema', 'push', '-', ...data], { input: SCHEMA })
    const args = ['import', '-', '--table', 'cities', '--realm', 'rlm-public', ...data]
    const [[, , list]] = CASES
    expect(await runJson<unknown>(args, { input: list })).toMatchObject({ objects: 1 })
  })
})

test('an export that fails leaves neither a part of a file nor an older one damaged', async () => {
  using satchel = await setup()
  const { data, file } = satchel
  writeFileSync(file('old.ndjson'), 'older')
  const failed = await runSatchel(['export', file('old.ndjson'), '--table', 'none', ...data])
  expect(failed.exitCode).toBe(1)
  expect(readFileSync(file('old.ndjson'), 'utf8')).toBe('older')
  expect(readdirSync(satchel.path).toSorted()).toEqual(['data', 'old.ndjson'])
  const nowhere = await runSatchel(['export', file('none/out.ndjson'), ...data])
  expect(nowhere).toMatchObject({ exitCode: 2, stdout: '' })
  expect(nowhere.stderr).toBe(`satchel: There is no folder ${file('none')}\n`)
  expect(existsSync(file('none'))).toBe(false)
})

test('a file that is missing or a folder, and a realm without a table, are mistakes of usage', async () => {
  using satchel = await setup()
  const { data, file } = satchel
  mkdirSync(file('folder'))
  for (const [args, sentence] of [
    [[file('none.json')], `There is no file ${file('none.json')}`],
    [[file('folder')], `${file('folder')} is a folder`],
    [['-', '--realm', 'rlm-public'], '--realm needs --table'],
  ] as const) {
    const refused = await runSatchel(['import', ...args, ...data])
    expect(refused).toMatchObject({ exitCode: 2, stdout: '' })
    expect(refused.stderr).toContain(sentence)
  }
  const format = await runSatchel(['export', '--format', 'xml', ...data])
  expect(format).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('ndjson, json') })
})

describe('a place that an export cannot replace', () => {
  const isRoot = process.getuid?.() === 0

  test('as a pipe or a device is written and stays what it is', async () => {
    using satchel = await setup()
    const { data, file } = satchel
    expect(Bun.spawnSync(['mkfifo', file('pipe')]).success).toBe(true)
    const reader = Bun.spawn(['cat', file('pipe')], { stdout: 'pipe' })
    expect((await runSatchel(['export', file('pipe'), ...data])).exitCode).toBe(0)
    expect(await reader.stdout.text()).toContain('"cities":"@id, country"')
    expect(lstatSync(file('pipe')).isFIFO()).toBe(true)
    const nowhere = await runSatchel(['export', '/dev/null', ...data])
    expect(nowhere).toMatchObject({ exitCode: 0, stderr: '' })
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true)
  })

  test('as a link stays, and the file it leads to is replaced', async () => {
    using satchel = await setup()
    const { data, file } = satchel
    mkdirSync(file('target'))
    writeFileSync(file('target/all.ndjson'), 'before')
    symlinkSync(file('target/all.ndjson'), file('link.ndjson'))
    expect((await runSatchel(['export', file('link.ndjson'), ...data])).exitCode).toBe(0)
    expect(readlinkSync(file('link.ndjson'))).toBe(file('target/all.ndjson'))
    expect(readFileSync(file('target/all.ndjson'), 'utf8')).toContain('cities')
    expect(readdirSync(file('target'))).toEqual(['all.ndjson'])
  })

  test('as a planted draft is not followed', async () => {
    using satchel = await setup()
    const { data, file } = satchel
    writeFileSync(file('victim'), 'mine')
    chmodSync(file('victim'), 0o644)
    symlinkSync(file('victim'), file('all.ndjson.part'))
    expect((await runSatchel(['export', file('all.ndjson'), ...data])).exitCode).toBe(0)
    expect(readFileSync(file('victim'), 'utf8')).toBe('mine')
    expect(statSync(file('victim')).mode & 0o777).toBe(0o644)
    expect(lstatSync(file('all.ndjson')).isFile()).toBe(true)
  })

  test.if(isRoot)('as a link of another user is refused', async () => {
    using satchel = await setup()
    const { data, file } = satchel
    writeFileSync(file('victim'), 'mine')
    symlinkSync(file('victim'), file('all.ndjson'))
    lchownSync(file('all.ndjson'), 65_534, 65_534)
    const refused = await runSatchel(['export', file('all.ndjson'), ...data])
    expect(refused).toMatchObject({
      exitCode: 2,
      stderr: `satchel: ${file('all.ndjson')} is a link of another user: name another file\n`,
    })
    expect(readFileSync(file('victim'), 'utf8')).toBe('mine')
  })
})

test('a file that cannot be read or written is one line', async () => {
  using satchel = await setup()
  const { data, file, path } = satchel
  const extensions = 'end the name in .zip, .ndjson or .json, or choose with --format'
  for (const [args, line] of [
    [['import', '/dev/null'], 'The file is empty'],
    [['import', '/dev/null', '--table', 'cities', '--realm', 'rlm-public'], 'The file is empty'],
    [['export', path], `${path} is a folder: name a file in it`],
    [['export', file('a.csv')], `.csv is no format of an export: ${extensions}`],
    [['export', file('none/a.ndjson')], `There is no folder ${file('none')}`],
  ] as const) {
    const refused = await runSatchel([...args, ...data])
    expect(refused.stderr).toBe(`satchel: ${line}\n`)
    expect(refused.stdout).toBe('')
    expect(refused.exitCode).toBeGreaterThan(0)
  }
  expect(existsSync(file('a.csv'))).toBe(false)
  const chosen = await runSatchel(['export', file('a.csv'), '--format', 'ndjson', ...data])
  expect(chosen.exitCode).toBe(0)
})

test('an import that Ctrl-C leaves behind is the one that the command began or followed', () => {
  const importOf = (id: string, file: string | null) => ({ id, place: { file, row: 0, rows: 9 } })
  const imports = [importOf('a', 'a.json'), importOf('b', 'b.json'), { id: 'c', place: null }]
  expect(importLeft(imports, { file: 'b.json' })?.id).toBe('b')
  expect(importLeft(imports, { file: 'c.json' })).toBeUndefined()
  expect(importLeft(imports, { file: null })).toBeUndefined()
  expect(importLeft(imports, { earlier: new Set(['a', 'b']) })?.id).toBe('c')
  expect(importLeft(imports, { earlier: new Set(['a', 'b', 'c']) })).toBeUndefined()
})
