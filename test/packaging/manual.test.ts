import { expect, test } from 'bun:test'
import { environmentName, SETTINGS } from '../../src/config/settings'
import { allCommands, commandTree } from '../../src/packaging/command-tree'
import { manualPage } from '../../src/packaging/manual'

const page = manualPage('0.1.0', Date.UTC(2030, 0, 31) / 1000)

test('the manual page has each command and each setting', () => {
  const lines = page.split('\n')
  for (const { name, usage } of allCommands(commandTree())) {
    if (usage.includes('[command]')) continue
    expect(lines.filter((line) => line.startsWith(`.SS ${written(name)} `))).toHaveLength(1)
  }
  for (const name of Object.keys(SETTINGS)) {
    expect(lines).toContain(`.B ${name}, ${environmentName(name)}`)
  }
  expect(lines[0]).toBe(`.TH SATCHEL 1 "2030-01-31" "Satchel 0.1.0" "User Commands"`)
})

test('no text of it is a request of the language', () => {
  const requests = new Set(page.match(/^[.'][^ \n]*/gm))
  expect([...requests].toSorted()).toEqual(['.B', '.PP', '.SH', '.SS', '.TH', '.TP'])
})

const groff = Bun.which('groff')

test.skipIf(groff === null)(
  'groff formats it without a warning (needs groff: apt-get install groff)',
  async () => {
    const child = Bun.spawn(['groff', '-man', '-Tutf8', '-ww', '-Kutf8'], {
      stdin: new Blob([page]),
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [text, warnings] = await Promise.all([child.stdout.text(), child.stderr.text()])
    expect(warnings).toBe('')
    // Bold letters are printed twice.
    expect(text.replaceAll(/.[\b]/g, '')).toMatch(/^ +satchel user add \[options\] </m)
  },
)

function written(name: string): string {
  return name.replaceAll('-', String.raw`\-`)
}
