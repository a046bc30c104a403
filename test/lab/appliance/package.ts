import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDeb } from '../../../src/packaging/deb'
import { DIST } from '../../../src/packaging/folders'
import { EXECUTABLE } from '../../binary/setup'
import { until } from '../../timing'
import { bootMachine, type Machine, MACHINE_TOOLS } from './machine'
import { missing, output } from './tools'

/** The package with the executable of `bun build.ts`, not compressed, which takes a minute. */
async function makePlain(into: string): Promise<string> {
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64'
  return await makeDeb({ executable: EXECUTABLE, architecture, into, compression: 'none' })
}

const noMachine = missing([...MACHINE_TOOLS, 'dpkg-deb'], true)
const PATIENCE_MS = 300_000

/** A bare system has no other client of HTTP. */
const ASK_HEALTH = `exec 3<>/dev/tcp/127.0.0.1/7080
printf "GET /health HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n" >&3
head -1 <&3`

/** The tests follow each other on one machine, as the years of an appliance do. */
describe.skipIf(noMachine !== undefined)(`On a bare Debian with systemd${noMachine ?? ''}`, () => {
  let folder = ''
  let machine: Machine | undefined
  const sh = async (script: string) => (await machine?.sh(script)) ?? ''
  const give = async (deb: string) => (await machine?.give(deb)) ?? ''
  const install = (deb: string) => sh(`DEBIAN_FRONTEND=noninteractive apt-get -qq install ${deb}`)
  const show = async (property: string) =>
    (await sh(`systemctl show --value --property ${property} satchel`)).trim()
  const health = () => sh(`bash -c '${ASK_HEALTH}'`)

  beforeAll(async () => {
    await mkdir(join(DIST, 'lab'), { recursive: true })
    folder = await mkdtemp(join(DIST, 'lab', 'package-'))
    machine = await bootMachine()
  }, PATIENCE_MS)

  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  test(
    'one command installs a service that runs as its own user on this machine only',
    async () => {
      await install(await give(await makePlain(folder)))
      expect(await show('ActiveState')).toBe('active')
      expect(await show('StatusText')).toBe('Serving http://127.0.0.1:7080')
      expect(await sh(`stat --format=%U /proc/${await show('MainPID')}`)).toBe('satchel\n')
      expect(await health()).toContain('200')
      expect(await sh('systemctl is-enabled satchel')).toBe('enabled\n')
    },
    PATIENCE_MS,
  )

  test('only the service reads its data, its backups and its secrets', async () => {
    const modes = await sh(
      'stat --format="%a %U:%G" /etc/satchel/environment /var/lib/satchel /var/backups/satchel',
    )
    expect(modes.split('\n')).toEqual([
      '640 root:satchel',
      '700 satchel:satchel',
      '700 satchel:satchel',
      '',
    ])
  })

  test('root asks the service, and has its manual', async () => {
    const shown = JSON.parse(await sh('satchel status --json')) as Readonly<Record<string, unknown>>
    expect(shown).toMatchObject({ state: 'running', folder: '/var/lib/satchel' })
    expect(await sh('satchel health')).toBe('healthy\n')
    const config = '--config /etc/satchel/satchel.json'
    await sh(`satchel db create shop --json ${config}`)
    const { data } = JSON.parse(await sh(`satchel db list --json ${config}`)) as {
      readonly data: readonly { readonly name: string }[]
    }
    expect(data.map(({ name }) => name)).toEqual(['main', 'shop'])
    expect(await sh('satchel config check /etc/satchel/satchel.json')).toContain('development')
    expect(await sh('gzip -dc /usr/share/man/man1/satchel.1.gz')).toContain('.TH SATCHEL 1')
  })

  test('the service backs up to the folder that its unit leaves open', async () => {
    await sh('satchel backup /var/backups/satchel --config /etc/satchel/satchel.json')
    expect((await sh('ls /var/backups/satchel')).trim()).not.toBe('')
  })

  test('a reload takes a new level of the log, without a restart', async () => {
    const process = await show('MainPID')
    await sh(`sed -i 's|"port": 7080,|&\\n  "logLevel": "debug",|' /etc/satchel/satchel.json`)
    await sh('systemctl reload satchel')
    await until(async () => (await show('StatusText')).startsWith('Serving'))
    expect(await show('MainPID')).toBe(process)
    const log = () => sh('journalctl --unit satchel --output cat')
    await until(async () => (await log()).includes('The settings were read again'))
  })

  test(
    'a process whose event loop stands still is killed and started again',
    async () => {
      const process = await show('MainPID')
      await sh(`mkdir -p /run/systemd/system/satchel.service.d
      printf '[Service]\\nWatchdogSec=2\\n' >/run/systemd/system/satchel.service.d/watchdog.conf
      systemctl daemon-reload; systemctl restart satchel`)
      const stopped = await show('MainPID')
      expect(stopped).not.toBe(process)
      await sh(`kill -STOP ${stopped}`)
      await until(
        async () => (await show('NRestarts')) === '1' && (await show('ActiveState')) === 'active',
      )
      expect(await show('MainPID')).not.toBe(stopped)
      expect(await health()).toContain('200')
      await sh('rm -r /run/systemd/system/satchel.service.d; systemctl daemon-reload')
    },
    PATIENCE_MS,
  )

  test(
    'an upgrade keeps data and settings, and restarts the service',
    async () => {
      const process = await show('MainPID')
      await install(await give(await newer(await makePlain(folder), folder)))
      expect(await sh("dpkg-query --show --showformat='${Version}' satchel")).toBe('99.0.0')
      expect(await show('ActiveState')).toBe('active')
      expect(await show('MainPID')).not.toBe(process)
      expect(await sh('cat /etc/satchel/satchel.json')).toContain('"logLevel": "debug"')
      expect(await sh('ls /var/lib/satchel/databases')).toContain('shop')
    },
    PATIENCE_MS,
  )

  test('a removal keeps data, settings and backups', async () => {
    await sh('apt-get -qq remove satchel')
    expect(await sh('ls /var/lib/satchel/databases')).toContain('shop')
    expect(await sh('ls /etc/satchel')).toBe('environment\nsatchel.json\n')
    expect((await sh('ls /var/backups/satchel')).trim()).not.toBe('')
    expect(await sh('systemctl is-active satchel || true')).toBe('inactive\n')
  })

  test('a purge removes the data of the service, but neither backups nor a folder that is set elsewhere', async () => {
    await sh(`mkdir -p /srv/elsewhere; cp -a /var/lib/satchel/. /srv/elsewhere
      sed -i 's|/var/lib/satchel|/srv/elsewhere|' /etc/satchel/satchel.json`)
    await sh('apt-get -qq purge satchel')
    expect(await sh('ls -d /var/lib/satchel /etc/satchel 2>&1 || true')).not.toContain('\n/')
    expect(await sh('ls /srv/elsewhere/databases')).toContain('shop')
    expect((await sh('ls /var/backups/satchel')).trim()).not.toBe('')
  })
})

/** The same package with a later version. */
async function newer(deb: string, folder: string): Promise<string> {
  const root = join(folder, 'newer')
  await output(['dpkg-deb', '--raw-extract', deb, root])
  await output(['sed', '-i', 's/^Version: .*/Version: 99.0.0/', join(root, 'DEBIAN', 'control')])
  const made = join(folder, 'satchel_99.0.0.deb')
  await output(['dpkg-deb', '--root-owner-group', '-Znone', '--build', root, made])
  return made
}

const noLintian = missing(['lintian', 'dpkg-deb'])

test.skipIf(noLintian !== undefined)(
  `lintian finds nothing in the package that is not explained${noLintian ?? ''}`,
  async () => {
    const folder = await mkdtemp(join(DIST, 'package-'))
    try {
      const deb = await makePlain(folder)
      const plain = ['control', 'data'].map((part) => `uses-no-compression-for-${part}-tarball`)
      const options = ['--allow-root', `--suppress-tags=${plain.join(',')}`]
      expect(await output(['lintian', ...options, '--fail-on=error,warning', deb])).toBe('')
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
  PATIENCE_MS,
)
