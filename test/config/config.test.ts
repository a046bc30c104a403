import { describe, expect, test } from 'bun:test'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { readConfig, requireOneStorage, UsageError } from '../../src/config/config'
import { isLoopback } from '../../src/net/networks'

const environment = {}

function settingsFile(content: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'satchel-test-')), 'satchel.json')
  writeFileSync(file, content)
  return file
}

test('listens on this machine only and has no secrets unless told otherwise', () => {
  const config = readConfig({ environment })
  expect(config).toMatchObject({ host: '127.0.0.1', port: 7080, memory: false, durability: 'full' })
  expect(config.data).toBe(resolve('data'))
  expect(config.secretKey).toBeNull()
  expect(config.development).toBe(true)
  expect(Object.isFrozen(config)).toBe(true)
})

test('flags win over the environment, which wins over the file, which wins over the defaults', () => {
  const file = settingsFile('{ "port": 1, "host": "0.0.0.0", "domain": "file.example" }')
  const environment = { SATCHEL_PORT: '2', SATCHEL_DOMAIN: 'environment.example' }
  const config = readConfig({ file, environment, flags: { port: '3' } })
  expect(config).toMatchObject({ port: 3, domain: 'environment.example', host: '0.0.0.0' })
  expect(config.durability).toBe('full')
})

test.each([
  ['1500', 1500],
  ['20GB', 20e9],
  ['1.5 MiB', 1.5 * 2 ** 20],
  ['7k', 7000],
  ['3tib', 3 * 2 ** 40],
])('takes %p as an amount', (text, bytes) => {
  expect(readConfig({ environment, flags: { blobQuota: text } }).blobQuota).toBe(bytes)
})

test('an empty variable is as good as none', () => {
  expect(readConfig({ environment: { SATCHEL_PORT: '' } }).port).toBe(7080)
})

test('names the flag, the variable or the key that is wrong, and what it should be', () => {
  const file = settingsFile('{ "port": "seven" }')
  const expected = 'must be a port between 0 and 65535'
  expect(() => readConfig({ environment, flags: { port: '65536' } })).toThrow(`--port ${expected}`)
  expect(() => readConfig({ environment: { SATCHEL_PORT: 'tcp://10.0.0.1:80' } })).toThrow(
    `SATCHEL_PORT ${expected}`,
  )
  expect(() => readConfig({ environment, file })).toThrow(`port in ${file} ${expected}`)
})

test('a settings file may have comments and commas at the end, and a mistake is placed', () => {
  const file = settingsFile('{ // the port\n  "port": 1, /* no more */\n}')
  expect(readConfig({ environment, file }).port).toBe(1)
  expect(() => readConfig({ environment, file: settingsFile('{\n  "port": 80x }') })).toThrow(
    'is not JSON: an unknown word is found at line 2, column 13',
  )
})

test('refuses a settings file that is missing, no JSON, no object or has an unknown setting', () => {
  expect(() => readConfig({ environment, file: '/nowhere/satchel.json' })).toThrow(UsageError)
  expect(() => readConfig({ environment, file: settingsFile('{') })).toThrow('is not JSON')
  expect(() => readConfig({ environment, file: settingsFile('[]') })).toThrow('one JSON object')
  expect(() => readConfig({ environment, file: settingsFile('{"prot":1}') })).toThrow(
    'unknown setting "prot"',
  )
})

test('refuses a variable with a wrong name, which would have no effect', () => {
  for (const name of ['SATCHEL_PROT', 'SATCHEL_PUBLICURL', 'SATCHEL_port', 'SATCHEL_']) {
    expect(() => readConfig({ environment: { [name]: '1' } })).toThrow(
      `unknown variable "${name}"; known are SATCHEL_DATA, `,
    )
  }
  const others = {
    SATCHEL_EXECUTABLE: '/usr/bin/satchel',
    SATCHEL_TEST_URL: 'http://127.0.0.1:1/main',
    // Kubernetes sets these for a service with the name `satchel`.
    SATCHEL_SERVICE_HOST: '10.0.0.1',
    SATCHEL_SERVICE_PORT_HTTP: '7080',
    SATCHEL_PORT_7080_TCP_ADDR: '10.0.0.1',
    MY_SATCHEL_PROT: '1',
  }
  expect(readConfig({ environment: others })).toEqual(readConfig({ environment: {} }))
})

test('refuses a folder for a server in memory, whatever names it', () => {
  const file = settingsFile('{"data": "./data"}')
  const empty = settingsFile('{}')
  for (const [sources, name] of [
    [{ environment, flags: { memory: true, data: './data' } }, '--data'],
    [{ environment: { SATCHEL_DATA: './data' }, flags: { memory: true } }, 'SATCHEL_DATA'],
    [{ environment: { SATCHEL_MEMORY: 'true' }, flags: { data: './data' } }, '--data'],
    [{ environment, file, flags: { memory: true } }, `data in ${file}`],
  ] as const) {
    expect(() => requireOneStorage(readConfig(sources), sources)).toThrow(
      `${name} and --memory cannot be combined`,
    )
  }
  for (const sources of [
    { environment, flags: { memory: true } },
    { environment: { SATCHEL_DATA: '' }, flags: { memory: true } },
    { environment, file: empty, flags: { memory: true } },
    { environment, file, flags: {} },
  ]) {
    expect(() => requireOneStorage(readConfig(sources), sources)).not.toThrow()
  }
})

test.each([
  ['durability', 'sometimes', 'full or relaxed'],
  ['host', 'example.com', 'an IP address'],
  ['domain', 'exa mple.com', 'a domain name'],
  ['domain', '10.0.0.1', 'a domain name'],
  ['publicUrl', 'ftp://example.com', 'an http(s) address'],
  ['publicUrl', 'https://user:word@example.com', 'an http(s) address'],
  ['publicUrl', 'https://example.com/?a=b', 'an http(s) address'],
  ['trustProxy', '10.0.0.0', 'CIDR'],
  ['trustProxy', '10.0.0.0/33', 'CIDR'],
  ['trustProxy', '10.0.0.0/8,', 'CIDR'],
  ['maxBody', '0', 'at least 1'],
  ['offloadBeyond', '-1', '"clients"'],
  ['offloadBeyond', '4KB', 'a number of bytes'],
  ['offloadBeyond', '', '"off"'],
  ['backupAt', '25:00', 'a time of day'],
  ['backupKeep', '7', '7d,4w,12m'],
  ['backupKey', 'short', '32 random bytes'],
  ['blobQuota', '0', 'a number of bytes'],
  ['userBlobQuota', '1.5 bananas', 'a number of bytes'],
  ['data', '', 'the path of a folder'],
  ['smtpUrl', 'https://example.com', 'the address of a mail server'],
  ['smtpUrl', 'smtp://', 'smtp://user:password@host:port'],
  ['mailHook', 'smtp://example.com', 'the https address of a web hook'],
  ['mailFrom', 'My App', 'a name and an address'],
  ['mailHookSecret', 'secret', 'whsec_ and 24 to 64 random bytes'],
  ['mailHookSecret', `whsec_${'A'.repeat(8)}`, 'whsec_ and 24 to 64 random bytes'],
])('refuses %s %p', (name, value, expected) => {
  expect(() => readConfig({ environment, flags: { [name]: value } })).toThrow(expected)
})

test('signs requests to a mail hook: it wants a secret for it', () => {
  const address = { SATCHEL_MAIL_HOOK: 'https://hooks.example.com/' }
  expect(() => readConfig({ environment: address })).toThrow(
    '--mail-hook needs SATCHEL_MAIL_HOOK_SECRET',
  )
  const secret = `whsec_${Buffer.alloc(32).toString('base64')}`
  const both = { ...address, SATCHEL_MAIL_HOOK_SECRET: secret }
  expect(readConfig({ environment: both }).mailHookSecret).toBe(secret)
})

test('limits rates according to the table, except for the limits that are configured', () => {
  expect(readConfig({ environment }).rateLimits).toBeNull()
  const text = 'reads=1000/1m,tokens=off'
  const file = settingsFile(JSON.stringify({ rateLimits: text.split(',') }))
  for (const sources of [{ flags: { rateLimits: text } }, { file }]) {
    expect(readConfig({ environment, ...sources }).rateLimits).toMatchObject({
      reads: { count: 1000, window: 60_000 },
      writes: { count: 100, window: 60_000 },
      tokens: null,
    })
  }
  expect(() => readConfig({ environment: { SATCHEL_RATE_LIMITS: 'reads=many' } })).toThrow(
    'SATCHEL_RATE_LIMITS must be on, off, or limits such as reads=1000/1m',
  )
})

test('wants the certificate and its key together', () => {
  expect(() => readConfig({ environment, flags: { tlsCert: 'a.pem' } })).toThrow('belong together')
  const { tlsCert } = readConfig({ environment, flags: { tlsCert: 'a.pem', tlsKey: 'b.pem' } })
  expect(tlsCert).toBe(resolve('a.pem'))
})

test('takes the key that seals secrets from the environment as 32 bytes of base64', () => {
  const key = Buffer.alloc(32, 7)
  for (const text of [key.toString('base64'), key.toString('base64url')]) {
    expect(readConfig({ environment: { SATCHEL_SECRET_KEY: text } }).secretKey).toEqual(
      new Uint8Array(key),
    )
  }
  for (const text of ['short', Buffer.alloc(31).toString('base64'), `${key.toString('base64')} `]) {
    expect(() => readConfig({ environment: { SATCHEL_SECRET_KEY: text } })).toThrow(
      '32 random bytes',
    )
  }
})

describe('how mails are sent', () => {
  const smtp = 'smtp://me%40example.com:secret@relay.example.com'

  test('is nothing unless told, and one way when told', () => {
    const { smtpUrl, mailHook, mailFrom } = readConfig({ environment })
    expect({ smtpUrl, mailHook, mailFrom }).toEqual({
      smtpUrl: null,
      mailHook: null,
      mailFrom: null,
    })
    const both = { SATCHEL_SMTP_URL: smtp, SATCHEL_MAIL_HOOK: 'https://hooks.example.com/' }
    expect(() => readConfig({ environment: both })).toThrow('cannot be combined')
    const printed = { environment: { SATCHEL_SMTP_URL: smtp } }
    expect(() => readConfig({ ...printed, flags: { printMails: true } })).toThrow(
      '--print-mails cannot be combined',
    )
  })

  test('may be said with a password, but not where everyone on the machine reads it', () => {
    expect(readConfig({ environment: { SATCHEL_SMTP_URL: smtp } }).smtpUrl).toBe(smtp)
    expect(() => readConfig({ environment, flags: { smtpUrl: smtp } })).toThrow('SATCHEL_SMTP_URL')
    const flags = { smtpUrl: 'smtp://relay.example.com', mailFrom: 'app@example.com' }
    expect(readConfig({ environment, flags }).smtpUrl).toBe(flags.smtpUrl)
  })

  test('wants to know who sends, unless the mail server knows them by name', () => {
    expect(() => readConfig({ environment: { SATCHEL_SMTP_URL: 'smtp://a:b@c.example' } })).toThrow(
      '--mail-from',
    )
  })
})

test('believes the proxies of the networks it is given, in both families', () => {
  const flags = { trustProxy: '10.0.0.0/8, fd00::/8' }
  const { trustProxy, development } = readConfig({ environment, flags })
  expect(trustProxy?.networks).toEqual(['10.0.0.0/8', 'fd00::/8'])
  expect(trustProxy?.contains('10.200.3.4')).toBe(true)
  expect(trustProxy?.contains('::ffff:10.1.2.3')).toBe(true)
  expect(trustProxy?.contains('fd12::1')).toBe(true)
  expect(trustProxy?.contains('11.0.0.1')).toBe(false)
  expect(development).toBe(false)
})

test('is for development only on loopback, without a public address and without a proxy', () => {
  const isDevelopment = (flags: object) =>
    readConfig({ environment, flags: { ...flags } }).development
  expect(isDevelopment({ host: '::1' })).toBe(true)
  expect(isDevelopment({ host: '0.0.0.0' })).toBe(false)
  expect(isDevelopment({ publicUrl: 'https://data.example.com/' })).toBe(false)
  expect(isDevelopment({ memory: true, test: true })).toBe(true)
  expect(
    readConfig({ environment, flags: { publicUrl: 'https://data.example.com/' } }).publicUrl,
  ).toBe('https://data.example.com')
})

test('is never for development where the setting says so, and refuses it for tests', () => {
  const file = settingsFile('{"development": false}')
  expect(readConfig({ environment, file }).development).toBe(false)
  expect(readConfig({ environment: { SATCHEL_DEVELOPMENT: 'false' } }).development).toBe(false)
  expect(() => readConfig({ environment, file, flags: { memory: true, test: true } })).toThrow(
    '--test cannot be combined with development set to false',
  )
  expect(() => readConfig({ environment: { SATCHEL_DEVELOPMENT: 'no' } })).toThrow(
    'SATCHEL_DEVELOPMENT must be true or false',
  )
})

test('knows the addresses that only this machine can reach', () => {
  expect(['127.0.0.1', '127.9.9.9', '::1', 'localhost'].every(isLoopback)).toBe(true)
  expect(['0.0.0.0', '::', '10.0.0.1', '127.evil.example'].some(isLoopback)).toBe(false)
})

test('times of backups need a target of backups', () => {
  for (const flags of [{ backupKeep: '3d' }, { backupAt: '03:00' }]) {
    expect(() => readConfig({ flags, environment: {} })).toThrow(
      '--backup-at and --backup-keep need --backup',
    )
  }
})

test('data in memory is not backed up', () => {
  const flags = { memory: true, backup: './backups' }
  expect(() => readConfig({ environment: {}, flags })).toThrow(
    '--backup and --memory cannot be combined',
  )
})
