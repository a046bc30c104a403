import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../setup'
import { runJson, runSatchel } from './setup'

test('satchel config check shows what a file changes, without its secrets', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'satchel.json')
  writeFileSync(
    file,
    `{
      // One process for all applications.
      "port": 8080,
      "trustProxy": "10.0.0.0/8",
      "smtpUrl": "smtp://user:hush@smtp.example.com", "mailFrom": "a@example.com",
    }`,
  )
  const { exitCode, stdout } = await runSatchel(['config', 'check', file])
  expect(exitCode).toBe(0)
  expect(stdout).toMatch(/^port +8080$/m)
  expect(stdout).toMatch(/^smtpUrl +set$/m)
  expect(stdout).not.toContain('hush')
  expect(await runJson<object>(['config', 'check', file])).toMatchObject({
    settings: { port: '8080', mailFrom: 'a@example.com' },
  })
})

test('satchel config check names the mistake of a file', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'satchel.json')
  writeFileSync(file, '{"prot": 8080}')
  const { exitCode, stderr } = await runSatchel(['config', 'check', file])
  expect(exitCode).toBe(2)
  expect(stderr).toContain('has the unknown setting "prot"')
})
