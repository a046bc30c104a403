import { describe, expect, test } from 'bun:test'
import { type AnyOperation, readUpload } from '../../src/control/operation'
import { findOperation, getOperation, operationNames } from '../../src/control/operations'
import { doorOf, scopesOf } from '../../src/domain/access/door'
import { codeOf } from '../auth/setup'

describe.each(operationNames())('%s', (name) => {
  const { scopes, summary, input, rest }: AnyOperation = findOperation(name)!

  test('takes callers into a database that its input names', () => {
    if (scopes === 'operator') return
    expect(scopes).not.toBeEmpty()
    expect(input).toContainKey('database')
  })

  test('is let in over HTTP by the same scopes', () => {
    if (rest === undefined) return
    expect(scopes).toEqual(scopesOf(doorOf(rest.operationId))!)
  })

  test('says in a few words what it does', () => {
    expect(summary).toMatch(/^[A-Z][^.]{3,60}[^.]$/)
  })

  test('describes each property of its input', () => {
    for (const { schema } of Object.values(input)) {
      expect(Object.keys(schema)).toContainAnyValues(['type', 'enum', 'anyOf'])
    }
  })
})

test('an operation that only some inputs make a change says so', () => {
  const collect = getOperation('blob.gc')
  expect(collect.asks?.({ database: 'main', dryRun: true })).toBe(true)
  expect(collect.asks?.({ database: 'main', dryRun: false })).toBe(false)
})

test('a file that is read as a whole is refused beyond 64 MiB', async () => {
  const piece = new Uint8Array(1024 * 1024)
  let sent = 0
  const upload = new ReadableStream<Uint8Array>({
    pull(sender) {
      sent += 1
      sender.enqueue(piece)
    },
  })
  expect(await codeOf(() => readUpload({ upload }))).toBe('PAYLOAD_TOO_LARGE')
  expect(sent).toBeLessThan(70)
})
