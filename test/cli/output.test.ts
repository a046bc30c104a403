import { expect, test } from 'bun:test'
import { note, showProgress } from '../../src/cli/output'
import { createTestClock } from '../auth/setup'

const REDRAWN = '\r\u001b[2K'

function setup(isErrorTerminal = true) {
  const clock = createTestClock()
  const drawn: string[] = []
  const terminal = {
    isInputTerminal: false,
    isOutputTerminal: false,
    outputWidth: undefined,
    isErrorTerminal,
    hasOutputColors: false,
    hasErrorColors: false,
    canAsk: false,
    write: async () => {},
    writeError: (text: string) => void drawn.push(text),
    ask: async () => '',
    askSecret: async () => '',
    onInterrupt: () => ({ [Symbol.dispose]() {} }),
    input: () => new Blob().stream(),
  }
  return { clock, drawn, cli: { terminal, clock } }
}

test('draws the share that is done over itself, and wipes it away in the end', () => {
  const { cli, clock, drawn } = setup()
  {
    using progress = showProgress(cli, {}, 'bytes')
    for (const done of [0, 50, 100]) {
      progress.update(done, 100)
      clock.advance(100)
    }
  }
  expect(drawn).toEqual([
    `${REDRAWN}${'░'.repeat(20)} 0 %`,
    `${REDRAWN}${'█'.repeat(10)}${'░'.repeat(10)} 50 %`,
    `${REDRAWN}${'█'.repeat(20)} 100 %`,
    REDRAWN,
  ])
})

test('shows the progress when the total is unknown', () => {
  for (const [unit, text] of [
    ['bytes', '12.3 MB'],
    ['objects', '12,345,678 objects'],
  ] as const) {
    const { cli, drawn } = setup()
    showProgress(cli, {}, unit).update(12_345_678, null)
    expect(drawn).toEqual([REDRAWN + text])
  }
})

test('names the phase, and the rate and the time left once they are steady', () => {
  const { cli, clock, drawn } = setup()
  const progress = showProgress(cli, {}, 'bytes')
  clock.advance(2000)
  progress.update(20_000_000, 200_000_000, 'Checking')
  clock.advance(2000)
  progress.update(40_000_000, null, 'Reading')
  expect(drawn).toEqual([
    `${REDRAWN}Checking  ${'█'.repeat(2)}${'░'.repeat(18)} 10 %  10.0 MB/s  0:18 left`,
    `${REDRAWN}Reading  40.0 MB  10.0 MB/s`,
  ])
})

test('notes and errors are wrapped between words on a terminal, and are one line elsewhere', () => {
  const text = `The import of big.ndjson at row 1 of 2 goes on ${'while a server runs '.repeat(3)}`
  const { cli, drawn } = setup()
  note(cli.terminal, text.trim(), 'red')
  expect(drawn.join('')).toBe(
    'satchel: The import of big.ndjson at row 1 of 2 goes on while a server runs\nwhile a server runs while a server runs\n',
  )
  const other = setup(false)
  note(other.cli.terminal, text.trim())
  expect(other.drawn).toEqual([`satchel: ${text.trim()}\n`])
})

test('draws ten times a second at most', () => {
  const { cli, clock, drawn } = setup()
  const progress = showProgress(cli, {}, 'bytes')
  for (let i = 0; i < 1000; i++) {
    progress.update(i, 1000)
    clock.advance(1)
  }
  expect(drawn).toHaveLength(10)
})

test('is silent for programs, for files and when nothing was done', () => {
  for (const [isErrorTerminal, options] of [
    [true, { json: true }],
    [false, {}],
  ] as const) {
    const { cli, drawn } = setup(isErrorTerminal)
    using progress = showProgress(cli, options, 'bytes')
    progress.update(1, 2)
    expect(drawn).toEqual([])
  }
  const { cli, drawn } = setup()
  showProgress(cli, {}, 'bytes')[Symbol.dispose]()
  expect(drawn).toEqual([])
})
