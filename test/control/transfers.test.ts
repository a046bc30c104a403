import { expect, test } from 'bun:test'
import type { InputOf } from '../../src/control/operations'
import { codeOf } from '../auth/setup'
import { callerWith, setupOperations } from './setup'

const ROWS = 3_000

async function setup() {
  const server = await setupOperations({ items: '@id, done' })
  const rows = Object.fromEntries(
    Array.from({ length: ROWS }, (_, n) => [`k${n}`, { id: `k${n}`, done: n % 2 === 0, n }]),
  )
  const file = JSON.stringify({ data: { 'rlm-public': { items: rows } } })
  await server.run('import', {}, undefined, { upload: new Blob([file]).stream() })
  return server
}

type Export = Omit<InputOf<'export'>, 'database'>

test('an export has the chosen objects of a table, in each format', async () => {
  await using server = await setup()
  for (const format of ['ndjson', 'json', 'zip'] as const) {
    const objectsOf = async (input: Omit<Export, 'format'>) => {
      const pieces: Uint8Array[] = []
      const download = async (bytes: Uint8Array) => void pieces.push(bytes)
      const exported = await server.run('export', { format, ...input }, undefined, { download })
      expect(pieces.every(({ length }) => length > 0)).toBe(true)
      return exported.objects
    }
    const table = 'items'
    expect(await objectsOf({ table, filter: 'done=false' })).toBe(ROWS / 2)
    expect(await objectsOf({ table, filter: 'done=false&n=1&n=2&n=3' })).toBe(2)
    expect(await objectsOf({ table, prefix: 'k299' })).toBe(11)
    expect(await objectsOf({ table, search: 'k299' })).toBe(11)
    expect(await objectsOf({ table, search: 'none' })).toBe(0)
    expect(await objectsOf({ table })).toBe(ROWS)
  }
})

test('an export that chooses objects names their table, and has a filter that a list may have', async () => {
  await using server = await setup()
  const inputs: readonly Export[] = [
    { format: 'ndjson', filter: 'done=true' },
    { format: 'ndjson', search: 'x' },
    { format: 'zip', prefix: 'k' },
    { format: 'ndjson', table: 'items', filter: '$limit=1' },
    { format: 'json', table: 'items', filter: 'n=1&'.repeat(10_000) },
  ]
  for (const input of inputs) {
    expect(await codeOf(() => server.run('export', input))).toBe('INVALID_REQUEST')
  }
  const other: Export = { format: 'ndjson', table: 'none', search: 'x' }
  expect(await codeOf(() => server.run('export', other))).toBe('UNKNOWN_TABLE')
  const reading = () => server.run('export', { format: 'ndjson' }, callerWith('ACCESS_DB'))
  expect(await codeOf(reading)).toBe('NOT_AUTHORIZED')
})

test('an export ends at its next step when its reader is gone, also where it finds nothing', async () => {
  await using server = await setup()
  for (const format of ['ndjson', 'json', 'zip'] as const) {
    const leaving = new AbortController()
    let steps = 0
    const run = () =>
      server.run('export', { format, table: 'items', filter: 'n=none' }, undefined, {
        signal: leaving.signal,
        progress() {
          steps += 1
          leaving.abort()
        },
      })
    expect([format, await codeOf(run), steps]).toEqual([format, 'BUSY', 1])
  }
})
