import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { ROOT } from '../../../src/packaging/folders'
import { setupServer } from '../../setup'
import { missing, output } from './tools'

const GUIDES = join(ROOT, 'docs', 'metrics')
const lacking = missing(['promtool'])

describe.skipIf(lacking !== undefined)(`Prometheus${lacking ?? ''}`, () => {
  test('accepts the alerts, and their tests pass', async () => {
    expect(await output(['promtool', 'check', 'rules', 'satchel.rules.yaml'], GUIDES)).toContain(
      'SUCCESS: 6 rules found',
    )
    await output(['promtool', 'test', 'rules', 'satchel.rules.test.yaml'], GUIDES)
  })

  test('has nothing to remark on a scrape', async () => {
    await using server = await setupServer({ metrics: '127.0.0.1:0', metricsNames: true })
    await fetch(`${server.main}/all/things`)
    const line = server.lines.find((each) => each.includes('Metrics are served')) ?? '{}'
    const { url } = JSON.parse(line) as { readonly url: string }
    const scrape = await fetch(url)
    const check = Bun.spawn(['promtool', 'check', 'metrics'], {
      stdin: scrape,
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [exitCode, ...printed] = await Promise.all([
      check.exited,
      check.stdout.text(),
      check.stderr.text(),
    ])
    expect({ exitCode, printed }).toEqual({ exitCode: 0, printed: ['', ''] })
  })
})
