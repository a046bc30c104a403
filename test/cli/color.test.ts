import { expect, test } from 'bun:test'
import { styled, wantsColors, withColors } from '../../src/cli/color'
import { table } from '../../src/cli/table'
import { temporaryFolder } from '../setup'
import { runSatchel } from './setup'

test.each([
  [true, { TERM: 'xterm-256color' }, true],
  [false, { TERM: 'xterm-256color' }, false],
  [true, { TERM: 'dumb' }, false],
  [true, {}, false],
  [true, { TERM: 'xterm', NO_COLOR: '1' }, false],
  [true, { TERM: 'xterm', NO_COLOR: '' }, true],
  [false, { FORCE_COLOR: '1' }, true],
  [false, { FORCE_COLOR: '0' }, false],
  [true, { TERM: 'xterm', FORCE_COLOR: 'false' }, false],
  [true, { TERM: 'xterm', FORCE_COLOR: '1', NO_COLOR: '1' }, false],
])('a terminal: %p, with %p: colours %p', (isTerminal, environment, expected) => {
  expect(wantsColors(isTerminal, environment)).toBe(expected)
})

test('styles become escape sequences on a terminal and nothing elsewhere', () => {
  const text = `${styled('red', 'satchel:')} wrong${styled('bold', '')}`
  expect(withColors(text, true)).toBe('\u001b[31msatchel:\u001b[0m wrong')
  expect(withColors(text, false)).toBe('satchel: wrong')
})

test('columns are as wide as their texts, and texts of other people bring no style', () => {
  const rows = [
    [['green', 'active'] as const, 'Alice'],
    [['red', 'deactivated'] as const, styled('red', 'Mallory')],
  ]
  expect(withColors(table(['state', 'name'], rows), false)).toBe(
    'STATE         NAME\nactive        Alice\ndeactivated   \\ufdd031;Mallory\\ufdd1',
  )
  expect(withColors(table(['state', 'name'], rows), true)).toContain(
    '\u001b[32mactive\u001b[0m        Alice',
  )
})

test('headings of help and tables, states and errors have colours, JSON has none', async () => {
  using folder = temporaryFolder()
  const data = ['--data', folder.path]
  const run = (...args: readonly string[]) => runSatchel([...args, ...data], { isColored: true })
  await run('db', 'create', 'main')
  await run('user', 'add', 'alice@example.com')
  const { stdout: help } = await runSatchel(['user', '--help'], { isColored: true })
  expect(help).toStartWith('\u001b[1mUsage:\u001b[0m satchel user')
  expect(help).toContain('\n\u001b[1mCommands:\u001b[0m\n')
  const { stdout: users } = await run('user', 'list')
  expect(users).toStartWith('\u001b[1mID\u001b[0m ')
  expect(users).toContain('\u001b[32mactive\u001b[0m')
  expect((await run('user', 'show', 'nobody')).stderr).toStartWith('\u001b[31msatchel:\u001b[0m ')
  const asJson = await Promise.all([run('user', 'list', '--json'), run('nothing', '--json')])
  expect(JSON.stringify(asJson)).not.toContain('\\u001b')
})
