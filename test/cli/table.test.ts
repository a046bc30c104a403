import { describe, expect, test } from 'bun:test'
import { styled, withColors } from '../../src/cli/color'
import { type Heading, table } from '../../src/cli/table'
import { temporaryFolder } from '../setup'
import { runSatchel } from './setup'

const HEADINGS: readonly Heading[] = ['id', 'state', 'last login', { mayCut: 'name' }]
const ROWS = [
  ['alice@example.com', ['green', 'active'] as const, '2030-01-31 12:00', 'Alice'],
  ['bob@example.com', ['red', 'deactivated'] as const, 'never', 'Robert the Second of Scotland'],
]

/** The lines of a table without colours. */
function lines(width?: number, headings = HEADINGS, rows: Parameters<typeof table>[1] = ROWS) {
  return withColors(table(headings, rows, width), false).split('\n')
}

describe('a table on a terminal', () => {
  test('is as it is in a pipe where it fits', () => {
    const whole = [
      'ID                  STATE         LAST LOGIN         NAME',
      'alice@example.com   active        2030-01-31 12:00   Alice',
      'bob@example.com     deactivated   never              Robert the Second of Scotland',
    ]
    expect(lines()).toEqual(whole)
    expect(lines(82)).toEqual(whole)
  })

  test('has narrower gaps, and cuts what is not needed for the next command', () => {
    expect(lines(79)).toEqual([
      'ID                 STATE        LAST LOGIN        NAME',
      'alice@example.com  active       2030-01-31 12:00  Alice',
      'bob@example.com    deactivated  never             Robert the Second of Scotland',
    ])
    expect(lines(70)).toEqual([
      'ID                 STATE        LAST LOGIN        NAME',
      'alice@example.com  active       2030-01-31 12:00  Alice',
      'bob@example.com    deactivated  never             Robert the Second o…',
    ])
  })

  test('omits columns that are empty', () => {
    const rows = [
      ['client-1', '', 'Nightly export'],
      ['client-2', '', 'Import'],
    ]
    expect(lines(30, ['id', 'e-mail', 'name'], rows)).toEqual([
      'ID        NAME',
      'client-1  Nightly export',
      'client-2  Import',
    ])
    expect(lines(40, ['id', 'e-mail', 'name'], rows)[0]).toBe('ID         E-MAIL   NAME')
    // A table without rows keeps its headings.
    expect(lines(10, ['id', 'e-mail', 'name'], [])).toEqual(['ID   E-MAIL   NAME'])
  })

  test('wraps other cells and headings between words where that is not enough', () => {
    expect(lines(57)).toEqual([
      'ID                 STATE        LAST LOGIN  NAME',
      'alice@example.com  active       2030-01-31  Alice',
      '                                12:00',
      'bob@example.com    deactivated  never       Robert the S…',
    ])
    const scopes = [
      ['client-1', 'ACCESS_DB,IMPERSONATE,GLOBAL_READ'],
      ['client-2', 'all'],
    ]
    expect(lines(32, ['id', 'scopes'], scopes)).toEqual([
      'ID        SCOPES',
      'client-1  ACCESS_DB,IMPERSONATE,',
      '          GLOBAL_READ',
      'client-2  all',
    ])
  })

  test('becomes lines of headings and whole cells where nothing else fits, without empty ones', () => {
    const rows = [...ROWS, ['carol@example.com', ['green', 'active'] as const, '', '']]
    expect(lines(40, HEADINGS, rows)).toEqual([
      'ID           alice@example.com',
      'STATE        active',
      'LAST LOGIN   2030-01-31 12:00',
      'NAME         Alice',
      '',
      'ID           bob@example.com',
      'STATE        deactivated',
      'LAST LOGIN   never',
      'NAME         Robert the Second of',
      '             Scotland',
      '',
      'ID           carol@example.com',
      'STATE        active',
    ])
    expect(table(HEADINGS, ROWS, 40)).toContain(styled('red', 'deactivated'))
  })

  test('leaves two columns whole that no terminal could hold', () => {
    const path = `/srv/${'folder/'.repeat(10)}`
    expect(lines(40, ['setting', 'value'], [['data', path]])).toEqual([
      'SETTING  VALUE',
      `data     ${path}`,
    ])
  })

  test('keeps its columns with characters that take two, and gives each line its style', () => {
    const rows = [
      ['1', '山田太郎山田太郎', 'x'],
      ['2', 'Ann', 'y'],
    ]
    expect(lines(21, ['id', { mayCut: 'name' }, 'end'], rows)).toEqual([
      'ID  NAME          END',
      '1   山田太郎山…   x',
      '2   Ann           y',
    ])
    const failed = [['job-1', ['red', 'the disk is full'] as const]]
    expect(table(['id', 'why'], failed, 16).split('\n').slice(1)).toEqual([
      `job-1  ${styled('red', 'the disk')}`,
      `       ${styled('red', 'is full')}`,
    ])
  })

  test('of any texts is no wider than the terminal, unless one word is', () => {
    const words = ['a', 'bc,de', 'fgh', 'ijklm nopq', 'rs,tu,vw xyz']
    const rows = words.map((word, at) => [word, words[(at + 2) % 5] ?? '', word.repeat(at), ''])
    for (let width = 34; width < 100; width++) {
      for (const line of lines(width, ['k', { mayCut: 'some' }, 'other', 'none'], rows))
        expect({ width, line, fits: Bun.stringWidth(line) <= width }).toMatchObject({ fits: true })
    }
  })

  test('is what commands print, and pipes and JSON have all of it', async () => {
    using folder = temporaryFolder()
    const run = (args: readonly string[], width?: number) => {
      const scene = width === undefined ? {} : { isOutputTerminal: true, outputWidth: width }
      return runSatchel([...args, '--data', folder.path], scene)
    }
    await run(['db', 'create', 'main'])
    const name = 'A name that is longer than the rest of the line of a terminal'
    await run(['user', 'add', 'alice@example.com', '--name', name])
    const { stdout: narrow } = await run(['user', 'list'], 80)
    expect(narrow).toContain('…\n')
    for (const line of narrow.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
    expect((await run(['user', 'list'], 140)).stdout).toContain(name)
    expect((await run(['user', 'list'])).stdout).toContain(name)
    expect((await run(['user', 'list', '--json'], 80)).stdout).toContain(name)
  })
})
