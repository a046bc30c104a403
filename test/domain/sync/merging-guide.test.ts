import { expect, test } from 'bun:test'
import guide from '../../../docs/merging.md' with { type: 'text' }

const ROW = /^\| (.+) \| `(\w+)` in `(.+)` \| `(.+\.test\.ts)`: (.+) \|$/
const SOURCES = `${import.meta.dir}/../../../src/domain/sync`

const rows = guide.split('\n').flatMap((line) => {
  const [, rule, name, file, tests, title] = ROW.exec(line) ?? []
  return rule === undefined ? [] : [[rule, name, file, tests, title] as const]
})

test('the guide to merging lists its rules', () => {
  expect(rows.length).toBeGreaterThan(15)
})

test.each(rows)(
  '%s: the guide names a function and a test',
  async (_, name, file, tests, title) => {
    const source = await Bun.file(`${SOURCES}/${file}`).text()
    expect(source).toMatch(new RegExp(`^(export )?(async )?function\\*? ${name}\\(`, 'm'))
    expect(await Bun.file(`${import.meta.dir}/${tests}`).text()).toContain(`test('${title}'`)
  },
)
