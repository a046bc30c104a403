import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openCertificateFiles } from '../../src/acme/certificate-files'
import { runSatchel } from '../cli/setup'
import { setupServer, temporaryFolder } from '../setup'

test('the keys of the account and of the certificate are in no backup', async () => {
  await using server = await setupServer()
  using target = temporaryFolder()
  const files = openCertificateFiles(server.folder)
  const key = files.accountKey()
  files.keep('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----', key)
  const asked = await runSatchel(['backup', target.path, '--data', server.folder])
  expect(asked.exitCode).toBe(0)
  const [, secret = ''] = (key.export({ type: 'pkcs8', format: 'pem' }) as string).split('\n')
  expect(readFileSync(files.pair, 'utf8')).toContain(secret)
  const paths = [...new Bun.Glob('**').scanSync({ cwd: target.path, dot: true })]
  expect(paths.length).toBeGreaterThan(1)
  for (const path of paths) {
    expect(path).not.toContain('acme')
    expect(readFileSync(join(target.path, path)).includes(secret)).toBe(false)
  }
})
