import { describe, expect, test } from 'bun:test'
import { SatchelError } from '../../src/domain/value/error'
import {
  type AccessEntry,
  httpLog,
  type LogOptions,
  lostLines,
  openLogs,
  serverLog,
} from '../../src/log/log'
import { createTestClock } from '../auth/setup'
import { collectLines } from '../setup'

const request: AccessEntry = {
  requestId: 'q7-1',
  method: 'GET',
  path: '/main/my/todoItems',
  status: 200,
  duration: 1.23456,
}

function setup(options: Partial<LogOptions> = {}) {
  const clock = createTestClock(Date.UTC(2030, 0, 1, 12, 0, 0, 7))
  const sink = collectLines()
  const logs = openLogs({ clock, level: 'info', format: 'json', sink, ...options })
  return { clock, logs, lines: sink.lines }
}

test('a request is one line of JSON with the time of our clock', () => {
  const { clock, logs, lines } = setup()
  logs.access({ ...request, subject: 'alice@example.com', code: 'UNKNOWN_OBJECT', status: 404 })
  clock.advance(1)
  logs.access(request)
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    {
      time: '2030-01-01T12:00:00.007Z',
      level: 'info',
      logger: 'access',
      requestId: 'q7-1',
      method: 'GET',
      path: '/main/my/todoItems',
      status: 404,
      ms: 1.23,
      subject: 'alice@example.com',
      code: 'UNKNOWN_OBJECT',
    },
    expect.objectContaining({ time: '2030-01-01T12:00:00.008Z', ms: 1.23, status: 200 }),
  ])
})

// promises.md 31
test.each([
  'a\nb',
  'a\r\n{"level":"info"}',
  'a"b\\c',
  '\u001b[2J\u0000\u007f\u009b31m',
  '\u2028\u2029',
  '\ud800',
  'ünï😀',
])('for any path or subject, a request stays one line without control characters: %p', (evil) => {
  for (const format of ['json', 'text'] as const) {
    const { logs, lines } = setup({ format })
    logs.access({ ...request, path: evil, method: evil, subject: evil })
    serverLog.error('What {evil} did', { evil })
    expect(lines).toHaveLength(2)
    for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\u2028\u2029]/u)
    if (format === 'json') {
      expect(JSON.parse(lines[0] ?? '')).toMatchObject({
        path: evil,
        method: evil,
        subject: evil,
      })
      expect(JSON.parse(lines[1] ?? '')).toMatchObject({ evil })
    }
  }
})

test('an error is spelled out with what caused it', () => {
  const { lines } = setup()
  const cause = new TypeError('inner')
  httpLog.error('A request failed', {
    requestId: 'q7-2',
    error: new SatchelError('INTERNAL', 'outer', { cause }),
  })
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 'error',
    logger: 'http',
    message: 'A request failed',
    requestId: 'q7-2',
    error: {
      name: 'SatchelError',
      message: 'outer',
      code: 'INTERNAL',
      stack: expect.stringContaining('log.test'),
      cause: { name: 'TypeError', message: 'inner' },
    },
  })
})

test('properties cannot pass for the time, the level or the message', () => {
  const { lines } = setup()
  serverLog.info('Ready', {
    time: 'never',
    level: 'fatal',
    message: 'fake',
    logger: 'fake',
    url: 'u',
  })
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    time: '2030-01-01T12:00:00.007Z',
    level: 'info',
    logger: 'server',
    message: 'Ready',
    url: 'u',
  })
})

test('lines below the level are not written, requests are info', () => {
  const { logs, lines } = setup({ level: 'warning' })
  logs.access(request)
  serverLog.info('Ready')
  serverLog.warning('Careful')
  expect(lines.map((line) => JSON.parse(line).message)).toEqual(['Careful'])
})

test('someone at a terminal gets the time of day and words', () => {
  const { logs, lines } = setup({ format: 'text' })
  logs.access({ ...request, subject: 'alice', code: 'UNKNOWN_OBJECT', status: 404 })
  serverLog.warning('Careful', { left: 3 })
  expect(lines).toEqual([
    '12:00:00.007 404  GET    /main/my/todoItems  1.23 ms  alice  UNKNOWN_OBJECT',
    '12:00:00.007 warning  Careful  left=3',
  ])
})

test('a terminal with colours shows a dim time, and the level and the status in their colours', () => {
  const { clock, logs, lines } = setup({ format: 'text', isColored: true, level: 'debug' })
  for (const status of [200, 304, 499, 503]) logs.access({ ...request, status })
  serverLog.debug('Looked')
  serverLog.info('Ready')
  serverLog.warning('Careful', { left: 3 })
  serverLog.error('Broken')
  const start = '\u001b[2m12:00:00.007\u001b[0m'
  const rest = 'GET    /main/my/todoItems  \u001b[2m1.23 ms\u001b[0m'
  const lost = lostLines({ clock, format: 'text', isColored: true }, 5)
  expect([...lines, lost]).toEqual([
    `${start} \u001b[32m200\u001b[0m  ${rest}`,
    `${start} \u001b[36m304\u001b[0m  ${rest}`,
    `${start} \u001b[33m499\u001b[0m  ${rest}`,
    `${start} \u001b[31m503\u001b[0m  ${rest}`,
    `${start} \u001b[2mdebug  \u001b[0m  Looked`,
    `${start} \u001b[32minfo   \u001b[0m  Ready`,
    `${start} \u001b[33mwarning\u001b[0m  Careful  left=3`,
    `${start} \u001b[31merror  \u001b[0m  Broken`,
    `${start} \u001b[33mwarning\u001b[0m  5 log lines were lost: their reader is too slow`,
  ])
})

test('values of others bring no colours to a terminal that has them', () => {
  const { logs, lines } = setup({ format: 'text', isColored: true })
  const evil = '\u001b[41mred'
  logs.access({ ...request, path: evil, method: evil, subject: evil })
  serverLog.error('What {evil} did', { evil })
  logs.mail({ kind: 'otp', to: evil, subject: evil, text: evil, variables: {} })
  const shown = lines.join('\n')
  expect(shown).not.toContain(evil)
  expect(shown.match(/\\u001b\[41mred/g)).toHaveLength(8)
})

test('JSON never has colours', () => {
  const { logs, lines } = setup({ isColored: true })
  logs.access(request)
  expect(lines.join('')).not.toContain('\u001b')
})

test('says how many lines were lost, in the format of the rest', () => {
  const { clock } = setup()
  expect(JSON.parse(lostLines({ clock, format: 'json' }, 5))).toMatchObject({
    level: 'warning',
    message: expect.stringMatching(/^5 log lines were lost/),
  })
  expect(lostLines({ clock, format: 'text' }, 5)).toBe(
    '12:00:00.007 warning  5 log lines were lost: their reader is too slow',
  )
})

describe('a mail that is printed (design.md §2 Development)', () => {
  const mail = {
    kind: 'otp',
    to: 'alice@example.com',
    subject: 'K7QM2XWD is your code',
    text: 'This is the code:\n\n    K7QM2XWD\n\u001b[2Jgone\n',
    variables: { otp: 'K7QM2XWD', otp_id: 'an-id' },
  }

  test('is a conspicuous frame, at any level', () => {
    const { logs, lines } = setup({ format: 'text', level: 'error' })
    logs.mail(mail)
    expect(lines).toEqual([
      [
        '',
        '╔═ 12:00:00.007  MAIL TO alice@example.com ════════════════════════════════════',
        '║',
        '║  K7QM2XWD is your code',
        '║',
        '║  This is the code:',
        '║',
        '║      K7QM2XWD',
        '║  \\u001b[2Jgone',
        '║',
        '╚═ not sent but printed, because no mail server is configured ═════════════════',
        '',
      ].join('\n'),
    ])
  })

  test('is a line with the code for a program', () => {
    const { logs, lines } = setup({ level: 'error' })
    logs.mail(mail)
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0]!)).toEqual({
      time: '2030-01-01T12:00:00.007Z',
      level: 'warning',
      logger: 'mail',
      ...mail,
    })
  })
})

test('followers hear lines of their levels as JSON, whatever the format, until they leave', () => {
  const { logs } = setup({ format: 'text' })
  const all: string[] = []
  const serious: string[] = []
  const hearing = logs.follow(['info', 'warning', 'error'], (line) => all.push(line))
  logs.follow(['warning'], (line) => serious.push(line))
  logs.access(request)
  serverLog.warning('A\nB', { path: '<b>' })
  hearing[Symbol.dispose]()
  logs.access(request)
  expect(all.map((line): unknown => JSON.parse(line))).toMatchObject([
    { level: 'info', logger: 'access', path: request.path },
    { level: 'warning', logger: 'server', message: 'A\nB', path: '<b>' },
  ])
  expect(serious).toEqual(all.slice(1))
})

test('followers hear nothing of lines that are not logged, nor of mails', () => {
  const { logs } = setup({ level: 'warning' })
  const lines: string[] = []
  logs.follow(['info', 'warning'], (line) => lines.push(line))
  logs.access(request)
  logs.mail({ kind: 'otp', to: 'alice@example.com', subject: 'Code', text: '1', variables: {} })
  expect(lines).toEqual([])
})
