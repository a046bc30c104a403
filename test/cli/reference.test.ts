import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { commandReference, REFERENCE_FILE } from '../../src/cli/reference'

test('the reference of the commands is up to date: bun run docs', () => {
  const reference = commandReference()
  expect(readFileSync(REFERENCE_FILE, 'utf8')).toBe(reference)
  for (const part of ['### satchel user list', '`--valid-until <time>`', '| 130 |']) {
    expect(reference).toContain(part)
  }
})
