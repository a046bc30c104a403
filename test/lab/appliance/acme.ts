import { connect } from 'node:tls'
import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EXECUTABLE } from '../../binary/setup'
import { freePort } from '../../ports'
import { temporaryFolder } from '../../setup'
import { until } from '../../timing'
import { missing, output } from './tools'

const lacking = missing(['pebble', 'pebble-challtestsrv', 'openssl'])

const NAMES = ['db.example.com', 'sync.example.com']

test.skipIf(lacking !== undefined)(
  `a server gets and renews its certificates at pebble, which refuses one nonce in five${lacking ?? ''}`,
  async () => {
    using folder = temporaryFolder()
    await using undo = new AsyncDisposableStack()
    const start = (command: readonly string[], environment: Readonly<Record<string, string>>) => {
      const child = Bun.spawn([...command], {
        cwd: folder.path,
        env: { PATH: process.env['PATH'], XDG_RUNTIME_DIR: '/dev/null', ...environment },
        stdio: [
          'ignore',
          Bun.file(join(folder.path, `${command[0]?.split('/').at(-1)}.log`)),
          'pipe',
        ],
      })
      undo.defer(async () => {
        child.kill('SIGKILL')
        await child.exited
      })
      return child
    }
    const [directory, management, dns, dnsManagement] = [
      freePort(),
      freePort(),
      freePort(),
      freePort(),
    ]
    const [http, https] = [freePort(), freePort()]
    const certificate =
      'req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -keyout pebble.key -out pebble.pem -subj /CN=localhost -addext subjectAltName=DNS:localhost'
    await output(['openssl', ...certificate.split(' ')], folder.path)
    writeFileSync(
      join(folder.path, 'pebble.json'),
      JSON.stringify({
        pebble: {
          listenAddress: `127.0.0.1:${directory}`,
          managementListenAddress: `127.0.0.1:${management}`,
          certificate: 'pebble.pem',
          privateKey: 'pebble.key',
          httpPort: http,
          tlsPort: https,
        },
      }),
    )
    // All names are this machine.
    const names = ['-defaultIPv4', '127.0.0.1', '-defaultIPv6', '', '-http01', '', '-https01', '']
    const listeners = [
      ...dnsListener(`127.0.0.1:${dns}`),
      '-management',
      `127.0.0.1:${dnsManagement}`,
    ]
    start(['pebble-challtestsrv', '-tlsalpn01', '', ...names, ...listeners], {})
    start(['pebble', '-config', 'pebble.json', '-dnsserver', `127.0.0.1:${dns}`], {
      PEBBLE_VA_NOSLEEP: '1',
      PEBBLE_WFE_NONCEREJECT: '20',
    })
    const data = join(folder.path, 'data')
    const serve = (names: readonly string[]) =>
      `${EXECUTABLE} serve --data ${data} --port ${https} --public-url https://${NAMES[0]}:${https} --acme ${names.join(',')} --acme-email ada@example.com --acme-agree-tos --acme-port ${http} --acme-directory https://localhost:${directory}/dir`.split(
        ' ',
      )
    const environment = { NODE_EXTRA_CA_CERTS: join(folder.path, 'pebble.pem') }
    await until(async () => await isListening(directory))

    const first = start(serve(NAMES), environment)
    await until(async () => (await namesAt(https)).length > 0)
    expect(await namesAt(https)).toEqual(NAMES)
    first.kill('SIGTERM')
    expect(await first.exited).toBe(0)

    // A name more needs another certificate; the account is the same.
    const second = start(serve([...NAMES, 'new.example.com']), environment)
    await until(async () => (await namesAt(https)).includes('new.example.com'))
    second.kill('SIGTERM')
    expect(await second.exited).toBe(0)
  },
)

/** The options for its address, which have other names in later versions. */
function dnsListener(address: string): string[] {
  const { stderr } = Bun.spawnSync(['pebble-challtestsrv', '-help'])
  const isLater = stderr.toString().includes('-dnsserver')
  return isLater ? ['-dnsserver', address, '-doh', ''] : ['-dns01', address]
}

async function isListening(port: number): Promise<boolean> {
  const options = { tls: { rejectUnauthorized: false } }
  return await fetch(`https://localhost:${port}/dir`, options).then(
    ({ ok }) => ok,
    () => false,
  )
}

/** The names of the certificate of the server at this port; none while nothing listens. */
async function namesAt(port: number): Promise<string[]> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const options = { port, host: '127.0.0.1', servername: NAMES[0], rejectUnauthorized: false }
  const socket = connect(options, () => resolve(socket.getPeerCertificate().subjectaltname ?? ''))
  socket.on('error', () => resolve(''))
  const names = await promise
  socket.destroy()
  return names.split(', ').flatMap((name) => (name === '' ? [] : [name.replace('DNS:', '')]))
}
