import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { systemClock } from '../../src/clock'
import { createProgram } from '../../src/cli/program'
import { processTerminal } from '../../src/cli/terminal'
import { commandReference, REFERENCE_FILE } from '../../src/cli/reference'

test('the reference of the commands is up to date: bun run docs', () => {
  expect(readFileSync(REFERENCE_FILE, 'utf8')).toBe(commandReference())
})

test('the reference has one line for each command, with its arguments', () => {
  const lines = commandReference().split('\n')
  const named = lines.filter((line) => line.startsWith('| `satchel '))
  expect(named).toContain(
    '| `satchel db create <name>` | Create a database and its first client, which has all scopes |',
  )
  expect(named).toContain('| `satchel token` | Print an access token of a user, existing or not |')
  const names = named.map((line) => /^\| `satchel ([a-z -]+?)(?: [<[][^`]*)?` \|/.exec(line)?.[1])
  expect(new Set(names).size).toBe(named.length)
  const words = names.map((name) => name?.split(' ')[0])
  expect([...new Set(words)]).toEqual(
    createProgram('', { terminal: processTerminal(), clock: systemClock }, () => {})
      .commands.map((command) => command.name())
      .filter((name) => name !== 'help'),
  )
  expect(lines).toContain('| 130 | Ctrl-C ended it; the message says what it has done |')
})
