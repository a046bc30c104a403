import { expect, test } from 'bun:test'
import { environmentName, flagName, type Setting, SETTINGS } from '../../src/config/settings'
import { FIXED_LIMITS, type FixedLimit, mostOf } from '../../src/domain/value/fixed-limits'

const GUIDE = `${import.meta.dir}/../../docs/operations.md`
const ENTRIES = Object.entries<Setting<unknown>>(SETTINGS)

test('the guide has the table of all settings with their flags and defaults', async () => {
  const guide = await Bun.file(GUIDE).text()
  const shown = guide.split('\n\n').find((part) => part.startsWith('| setting |'))
  expect(shown).toBe(settingsTable())
})

test('the guide has the table of the limits that no setting changes', async () => {
  const guide = await Bun.file(GUIDE).text()
  const rows = Object.values<FixedLimit>(FIXED_LIMITS).map(
    (limit) => `| ${limit.of} | ${mostOf(limit)} | ${limit.beyond} |`,
  )
  const table = ['| what | limit | beyond it |', '|---|---|---|', ...rows].join('\n')
  const shown = guide.split('\n\n').find((part) => part.startsWith('| what | limit |'))
  expect(shown?.trim()).toBe(table)
})

/** The part of the guide, made from the settings: copy it from the failure of the test above. */
function settingsTable(): string {
  const rows = ENTRIES.map(([name, setting]) => {
    const flag = setting.withoutFlag ? '–' : `\`${flagName(name)}\``
    return `| \`${name}\` | ${flag} | ${defaultOf(setting)} | ${setting.help.replaceAll('<', '\\<')} |`
  })
  return ['| setting | flag | default | meaning |', '|---|---|---|---|', ...rows].join('\n')
}

function defaultOf({ fallback, value }: Setting<unknown>): string {
  if (typeof fallback === 'number') {
    return value === 'number' ? `${fallback}` : `${fallback.toLocaleString('en')} ${value}`
  }
  if (typeof fallback === 'boolean') return fallback ? 'on' : 'off'
  return typeof fallback === 'string' ? `\`${fallback}\`` : '–'
}

test.each(ENTRIES.map(([name]) => name))('%s has a variable of the environment', (name) => {
  expect(environmentName(name)).toMatch(/^SATCHEL_[A-Z_]+$/)
})
