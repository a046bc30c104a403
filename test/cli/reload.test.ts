import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { reloadSettings } from '../../src/cli/reload'
import { readConfig } from '../../src/config/config'
import { openLogs, serverLog } from '../../src/log/log'
import { createTestClock } from '../auth/setup'
import { collectLines, temporaryFolder } from '../setup'

function setup(settings: object) {
  const folder = temporaryFolder()
  const file = join(folder.path, 'satchel.json')
  const write = (text: string) => writeFileSync(file, text)
  write(JSON.stringify(settings))
  const sources = { file, environment: {}, flags: { port: '8000' } }
  const config = readConfig(sources)
  const sink = collectLines()
  const clock = createTestClock()
  const logs = openLogs({ clock, level: config.logLevel, format: 'json', sink })
  let certificates = 0
  const server = { reload: async () => void (certificates += 1) }
  return {
    write,
    logs,
    lines: sink.lines,
    reload: () => reloadSettings(config, sources, { logs, server }),
    certificates: () => certificates,
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

const request = { requestId: 'r', method: 'GET', path: '/', status: 200, duration: 1 }

test('a reload looks at the certificates and takes the log level, also of requests', () => {
  using served = setup({ logLevel: 'error' })
  served.logs.access(request)
  serverLog.debug('Before')
  served.write('{"logLevel": "debug"}')
  served.reload()
  served.logs.access(request)
  serverLog.debug('After')
  expect(served.certificates()).toBe(1)
  expect(served.lines.join('\n')).not.toContain('Before')
  expect(served.lines.join('\n')).toContain('After')
  expect(served.lines.filter((line) => line.includes('"access"'))).toHaveLength(1)
})

test('a reload names the other settings that have changed, without their values', () => {
  using served = setup({ mailFrom: 'a@example.com' })
  served.write('{"mailFrom": "hidden@example.com", "maxDepth": 9, "port": 9000}')
  served.reload()
  const line = served.lines.find((each) => each.includes('wait for a restart'))
  expect(JSON.parse(line ?? '')).toMatchObject({ settings: ['mailFrom', 'maxDepth'] })
  expect(served.lines.join('\n')).not.toContain('hidden')
})

test('a reload with wrong settings keeps those of the start, and takes the certificates', () => {
  using served = setup({ logLevel: 'info' })
  served.write('{"logLevel": "loud"}')
  served.reload()
  serverLog.info('Still heard')
  expect(served.certificates()).toBe(1)
  expect(served.lines.join('\n')).toContain('logLevel')
  expect(served.lines.join('\n')).toContain('Still heard')
})
