import { expect, test } from 'bun:test'
import { readConfig } from '../../src/config/config'
import { openLogs } from '../../src/log/log'
import { startServer } from '../../src/server'
import { createTestClock, DAY } from '../auth/setup'
import { runSatchel } from '../cli/setup'
import { freePort } from '../ports'
import { collectLines, temporaryFolder } from '../setup'
import { until } from '../timing'
import { startAuthority } from './authority'

test('a server opens https with its first certificate, and is not ready before', async () => {
  using folder = temporaryFolder()
  const clock = createTestClock()
  await using authority = startAuthority(() => clock.now())
  const [port, acmePort] = [freePort(), freePort()]
  const works: (() => void)[] = []
  const every = (_ms: number, work: () => void) => {
    works.push(work)
    return { [Symbol.dispose]() {} }
  }
  const flags = {
    data: folder.path,
    port,
    acme: 'localhost.example',
    acmeAgreeTos: true,
    acmeDirectory: authority.directory,
    acmePort,
  }
  const logs = openLogs({ clock, level: 'info', format: 'json', sink: collectLines() })
  const config = readConfig({ environment: {}, flags })
  await using server = await startServer(config, { clock, logs, every })
  const plain = (path: string) => fetch(`http://127.0.0.1:${acmePort}${path}`)
  const secure = () =>
    fetch(`https://127.0.0.1:${port}/ready`, { tls: { rejectUnauthorized: false } }).then(
      ({ status }) => status,
      () => 'closed',
    )
  expect(server.url).toBe(`https://localhost.example:${port}`)
  expect(await secure()).toBe('closed')
  expect((await plain('/ready')).status).toBe(503)
  expect((await plain('/health')).status).toBe(200)
  const certificate = async () =>
    JSON.parse((await runSatchel(['status', '--json', '--data', folder.path])).stdout).certificate
  expect(await certificate()).toMatchObject({
    names: ['localhost.example'],
    expires: null,
    days: null,
  })

  authority.httpPort = acmePort
  await until(async () => {
    clock.advance(DAY)
    for (const work of works) work()
    return (await secure()) === 200
  })
  expect((await plain('/ready')).status).toBe(200)
  expect(authority.issued).toEqual([['localhost.example']])
  expect(await certificate()).toMatchObject({ days: expect.any(Number), failure: null })
})

test('settings that contradict each other are refused', () => {
  const read = (flags: Readonly<Record<string, unknown>>) =>
    readConfig({ environment: {}, flags: { acme: 'db.example.com', acmeAgreeTos: true, ...flags } })
  expect(read({ port: 443 })).toMatchObject({
    acme: ['db.example.com'],
    publicUrl: 'https://db.example.com',
    development: false,
  })
  expect(() => read({ acmeAgreeTos: 'false' })).toThrow('--acme needs --acme-agree-tos')
  expect(() => read({ tlsCert: 'a', tlsKey: 'b' })).toThrow('--acme and --tls-cert')
  expect(() => read({ memory: true })).toThrow('--acme and --memory')
  expect(() => read({ port: 0 })).toThrow('--acme needs a --port')
  expect(() => read({ acme: '*.example.com' })).toThrow('--acme must be a domain name')
  expect(() => read({ acmeEmail: 'nobody' })).toThrow('--acme-email must be a mail address')
  expect(() => read({ acmeDirectory: 'http://ca.example.com' })).toThrow('--acme-directory must be')
})
