import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../src/packaging/folders'

const GUIDES = join(ROOT, 'docs', 'metrics')
const SOURCES = join(ROOT, 'src', 'metrics')

const sources = readdirSync(SOURCES)
  .map((name) => readFileSync(join(SOURCES, name), 'utf8'))
  .join('\n')

for (const name of ['grafana.json', 'satchel.rules.yaml']) {
  test(`each metric of ${name} is one of the server`, () => {
    const text = readFileSync(join(GUIDES, name), 'utf8')
    const named = [...new Set(text.match(/\bsatchel_\w+/g))]
    expect(named.length).toBeGreaterThan(5)
    const unknown = named.filter((metric) => {
      const family = metric.replace(/_(?:total|bucket)$/, '')
      const bare = family.replace('satchel_', '')
      return !sources.includes(`'${family}'`) && !sources.includes(`'${bare}'`)
    })
    expect(unknown).toEqual([])
  })
}

test('there are six alerts, each with a test that raises it and one that does not', () => {
  const read = (name: string) => Bun.YAML.parse(readFileSync(join(GUIDES, name), 'utf8'))
  const { groups } = read('satchel.rules.yaml') as {
    readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[]
  }
  const { tests } = read('satchel.rules.test.yaml') as {
    readonly tests: readonly {
      readonly alert_rule_test: readonly {
        readonly alertname: string
        readonly exp_alerts: readonly unknown[]
      }[]
    }[]
  }
  const alerts = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert))
  expect(alerts).toHaveLength(6)
  const cases = tests.flatMap((each) => each.alert_rule_test)
  for (const alert of alerts) {
    const own = cases.filter(({ alertname }) => alertname === alert)
    expect(own.some(({ exp_alerts: raised }) => raised.length === 1)).toBe(true)
    expect(own.some(({ exp_alerts: raised }) => raised.length === 0)).toBe(true)
  }
})
