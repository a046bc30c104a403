import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { ROOT } from '../../../src/packaging/folders'
import { missing, output } from './tools'

const UNIT = join(ROOT, 'src', 'packaging', 'debian', 'satchel.service')
/** Of ten: a service without any protection has 9.6. */
const MOST_EXPOSURE = 2

const noAnalysis = missing(['systemd-analyze'])

test.skipIf(noAnalysis !== undefined)(
  `the unit is exposed by ${MOST_EXPOSURE.toFixed(1)} of ten at most${noAnalysis ?? ''}`,
  async () => {
    const report = await output([
      'systemd-analyze',
      'security',
      '--offline=true',
      '--no-pager',
      UNIT,
    ])
    const exposure = Number(/exposure level for satchel\.service: ([\d.]+)/.exec(report)?.[1])
    expect(exposure).toBeGreaterThan(0)
    expect(exposure).toBeLessThanOrEqual(MOST_EXPOSURE)
  },
)
