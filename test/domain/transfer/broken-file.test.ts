import { expect, test } from 'bun:test'
import { refusalOf } from '../../auth/setup'
import { expectNothingLeft, lines, setupDatabase } from './setup'

const OBJECT = { title: 'Milch & "Käse" 漢字 😀', n: [1.5, -2e3, { a: null, b: true }], e: '\\' }
const FILE = JSON.stringify(
  {
    schema: { todo: '@id, title' },
    roles: { boss: { permissions: { manage: '*' } } },
    data: { 'rlm-a': { realms: { 'rlm-a': {} }, todo: { x: OBJECT, y: OBJECT } } },
  },
  undefined,
  1,
)
const LINES = lines(
  { type: 'schema', tables: { todo: '@id, title' } },
  { realm: 'rlm-a', table: 'realms', id: 'rlm-a', data: {} },
  { realm: 'rlm-a', table: 'todo', id: 'x', data: OBJECT },
)

/** Bytes, so that characters are cut too. */
function beginnings(text: string, every: number): string[] {
  const bytes = Buffer.from(text)
  const ends = Array.from({ length: Math.floor(bytes.length / every) }, (_, n) => n * every)
  return ends.map((end) => bytes.toString('latin1', 0, end))
}

test('a JSON file that breaks off anywhere is refused whole, with the place', async () => {
  await using base = await setupDatabase()
  const before = await base.export()
  const file = FILE.trimEnd()
  for (const beginning of beginnings(file, 3)) {
    const refusal = await refusalOf(() => base.import(Buffer.from(beginning, 'latin1')))
    expect(refusal.code).toBe('INVALID_REQUEST')
    expect(refusal.message).toMatch(/ line \d+|is empty/)
  }
  expect(await base.export()).toBe(before)
  await expectNothingLeft(base)
})

test('NDJSON that breaks off anywhere but behind a line is refused whole, with the line', async () => {
  await using base = await setupDatabase()
  const before = await base.export()
  const ends = new Set(
    LINES.split('\n').map((_, n, all) => Buffer.byteLength(all.slice(0, n).join('\n'))),
  )
  for (const beginning of beginnings(LINES, 3)) {
    if (beginning !== '' && ends.has(beginning.trimEnd().length)) continue
    const refusal = await refusalOf(() => base.import(Buffer.from(beginning, 'latin1')))
    expect(refusal.code).toBe('INVALID_REQUEST')
    expect(refusal.message).toMatch(/ line \d+|is empty/)
  }
  expect(await base.export()).toBe(before)
  await expectNothingLeft(base)
})

test.each(['}', ']', ',', '"', '{"a":1}', 'x', '\u0000'])(
  'a file with %j where it does not belong is refused whole',
  async (scrap) => {
    await using base = await setupDatabase()
    const before = await base.export()
    for (const text of [FILE, LINES]) {
      for (let at = 0; at <= text.length; at += 7) {
        const broken = text.slice(0, at) + scrap + text.slice(at)
        if (isStillGood(broken, text)) continue
        const refusal = await refusalOf(() => base.import(broken, { isDryRun: true }))
        expect([
          'INVALID_REQUEST',
          'UNPROCESSABLE',
          'UNKNOWN_REALM',
          'UNKNOWN_TABLE',
          'INVALID_SCHEMA',
        ]).toContain(refusal.code)
      }
    }
    expect(await base.export()).toBe(before)
    await expectNothingLeft(base)
  },
)

/** Inside a text some scraps do no harm. */
function isStillGood(broken: string, text: string): boolean {
  try {
    for (const part of text === FILE ? [broken] : broken.split('\n')) {
      if (part !== '') JSON.parse(part)
    }
    return true
  } catch {
    return false
  }
}

test.each([
  ['a section file', (data: string) => `{"data":{"rlm-a":{"todo":{"x":\n${data}}}}}`, 3],
  ['a list', (data: string) => `[{"id":"first"},\n${data}]`, 3],
  ['a line', (data: string) => `{"type":"header"}\n${data.replace('\n', ' ')}`, 2],
])(
  'a fault at the end of a long object of %s is refused with its place',
  async (_, fileOf, line) => {
    await using base = await setupDatabase()
    const long = `{"tags":["x"${',"x"'.repeat(300_000)}],\n"e":tru}`
    const target = fileOf('').startsWith('[') ? { table: 'todo', realm: 'rlm-a' } : null
    const refusal = await refusalOf(() => base.import(fileOf(long), { target }))
    const column = line === 3 ? 5 : long.indexOf('tru') + 1
    expect(refusal.code).toBe('INVALID_REQUEST')
    expect(refusal.message).toBe(
      `The file is not valid JSON: a value is expected at line ${line}, column ${column}`,
    )
    await expectNothingLeft(base)
  },
)
