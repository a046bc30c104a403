import { expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readConfig } from '../../src/config/config'
import { temporaryFolder } from '../setup'

const DEBIAN = join(import.meta.dir, '..', '..', 'src', 'packaging', 'debian')
const SETTINGS = join(DEBIAN, 'satchel.json')

test('the settings of the package serve this machine only, and not in development', () => {
  const config = readConfig({ file: SETTINGS, environment: {} })
  expect(config).toMatchObject({
    data: '/var/lib/satchel',
    host: '127.0.0.1',
    port: 7080,
    development: false,
  })
})

test('each setting that is a comment is accepted when it is none', () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'satchel.json')
  const text = readFileSync(SETTINGS, 'utf8')
  const hidden = [...text.matchAll(/^ {2}\/\/ (".*)$/gm)].map(([, line = '']) => line)
  expect(hidden.length).toBeGreaterThan(5)
  writeFileSync(file, text.replaceAll(/^ {2}\/\/ (?=")/gm, '  '))
  const environment = { SATCHEL_SMTP_URL: 'smtp://mail.example.com' }
  expect(readConfig({ file, environment })).toMatchObject({
    acme: ['db.example.com'],
    acmeAgreeTos: true,
    backup: '/var/backups/satchel',
    metrics: { host: '127.0.0.1', port: 9464 },
    publicUrl: 'https://db.example.com',
  })
})

test('each variable that is a comment in the environment is known', () => {
  const text = readFileSync(join(DEBIAN, 'environment'), 'utf8')
  const lines = [...text.matchAll(/^#(\w+)=(.*)$/gm)]
  const environment = Object.fromEntries(lines.map(([, name = '', value = '']) => [name, value]))
  expect(Object.keys(environment)).toContain('SATCHEL_SMTP_URL')
  expect(() =>
    readConfig({ environment: { ...environment, SATCHEL_MAIL_FROM: 'a@example.com' } }),
  ).not.toThrow()
})

test('no line of the environment or the settings is active that holds a secret', () => {
  const environment = readFileSync(join(DEBIAN, 'environment'), 'utf8')
  expect(environment.split('\n').filter((line) => !/^(?:#|$)/.test(line))).toEqual([])
})
