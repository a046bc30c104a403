import { expect, test } from 'bun:test'
import { environmentName, SETTINGS } from '../../src/config/settings'

/** The settings that limit a request, in the order of the table in the README. */
const LIMITS = [
  'maxBody',
  'maxDepth',
  'maxValues',
  'maxProperties',
  'maxObjects',
  'maxRows',
  'maxEntries',
  'maxRequestEntries',
  'maxBlob',
] as const

test('the README has the table of all limits with their defaults', async () => {
  const readme = await Bun.file(`${import.meta.dir}/../../README.md`).text()
  const shown = readme.split('\n\n').find((part) => part.startsWith('| setting |'))
  expect(shown).toBe(limitsTable())
})

/** The part of the README, made from the settings: copy it from the failure of the test above. */
function limitsTable(): string {
  const rows = LIMITS.map((name) => {
    const { fallback, help, value } = SETTINGS[name]
    return `| \`${name}\` | ${fallback.toLocaleString('en')} ${value} | ${help} |`
  })
  return ['| setting | default | limits |', '|---|---|---|', ...rows].join('\n')
}

test.each(LIMITS)('%s is set in the environment', (name) => {
  expect(environmentName(name)).toMatch(/^SATCHEL_MAX_[A-Z_]+$/)
})
