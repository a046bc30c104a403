import { expect, test } from 'bun:test'
import { CHECKS, examine } from '../../src/doctor/checks'
import type { CertificateFacts, Facts, ServerFacts } from '../../src/doctor/facts'
import { DAY, HOUR } from '../../src/domain/value/time'
import { noSigns } from '../../src/host/serving'

const NOW = Date.parse('2030-01-31T12:00:00Z')
const GIB = 1024 ** 3

const CERTIFICATE: CertificateFacts = {
  names: ['db.example.com'],
  expiresAt: NOW + 60 * DAY,
  failure: null,
  fitsKey: true,
  fitsAddress: true,
  fault: null,
  isManaged: false,
}

const SERVER: ServerFacts = { descriptors: { open: 40, limit: 65_536 }, signs: noSigns() }

/** A public server without a fault. */
const SOUND: Facts = {
  now: NOW,
  settings: {
    host: '0.0.0.0',
    port: 443,
    publicUrl: 'https://db.example.com',
    development: false,
    isProxyTrusted: false,
    areLimitsOff: false,
    hasTls: true,
    sendsMails: true,
    memory: false,
  },
  folder: {
    path: '/var/lib/satchel',
    mode: 0o700,
    uid: 996,
    gid: 997,
    isWritable: true,
    foreign: [],
    network: null,
    freeBytes: 40 * GIB,
    sizeBytes: 100 * GIB,
    freeFiles: 6_000_000,
    leftovers: [],
    since: NOW - 400 * DAY,
  },
  databases: [{ name: 'main', fault: null, latestTime: NOW - HOUR, stoppedJobs: 0 }],
  certificate: CERTIFICATE,
  backups: {
    last: NOW - DAY,
    target: '/var/backups/satchel',
    refusal: null,
    failure: null,
    newest: { name: '2030-01-30T02-30-00Z', fault: null },
  },
  server: SERVER,
  port: null,
  mailFailure: null,
}

test('nothing is wrong with a sound server, nor with a new one in development', () => {
  expect(examine(SOUND)).toEqual([])
  const fresh: Facts = {
    ...SOUND,
    settings: {
      ...SOUND.settings,
      publicUrl: null,
      development: true,
      hasTls: false,
      areLimitsOff: true,
      sendsMails: false,
    },
    certificate: null,
    backups: { last: null, target: null, refusal: null, failure: null, newest: null },
    server: null,
  }
  expect(examine(fresh)).toEqual([])
})

const folder = (change: Partial<Facts['folder']>) => ({ folder: { ...SOUND.folder, ...change } })
const settings = (change: Partial<Facts['settings']>) => ({
  settings: { ...SOUND.settings, ...change },
})
const certificate = (change: Partial<CertificateFacts>) => ({
  certificate: { ...CERTIFICATE, ...change },
})
const backups = (change: Partial<Facts['backups']>) => ({
  backups: { ...SOUND.backups, ...change },
})
const database = (change: Partial<Facts['databases'][number]>) => ({
  databases: [{ ...SOUND.databases[0]!, ...change }],
})
const signs = (change: Partial<ServerFacts['signs']>) => ({
  server: { ...SERVER, signs: { ...noSigns(), ...change } },
})
const failure = { at: NOW, attempts: 3, reason: 'the authority does not answer' }

/** Each fault with the check, the level, and parts of its sentence and of the command that mends it. */
const FAULTS: readonly (readonly [
  check: string,
  change: Partial<Facts>,
  level: 'warning' | 'error',
  problem: string,
  mend: string,
])[] = [
  ['folder owner', folder({ isWritable: false }), 'error', 'cannot be written', 'chown -R 996:997'],
  [
    'folder owner',
    folder({ foreign: ['acme/account.pem', 'server.sqlite'] }),
    'error',
    'acme/account.pem and 1 more',
    'chown -R 996:997 /var/lib/satchel',
  ],
  ['folder mode', folder({ mode: 0o750 }), 'warning', 'may enter', 'chmod 700 /var/lib/satchel'],
  ['file system', folder({ network: 'NFS' }), 'error', 'is on NFS', 'satchel backup'],
  ['disk', folder({ freeBytes: GIB }), 'warning', 'only 1024 MiB', 'du -xh'],
  ['disk', folder({ freeBytes: GIB / 10 }), 'error', 'only 102 MiB', 'du -xh'],
  ['files', folder({ freeFiles: 9_000 }), 'warning', 'only 9000 more files', 'du -x --inodes'],
  ['files', folder({ freeFiles: 0 }), 'error', 'only 0 more files', 'du -x --inodes'],
  [
    'descriptors',
    { server: { ...SERVER, descriptors: { open: 40, limit: 1_024 } } },
    'warning',
    'only 1024',
    'LimitNOFILE=65536',
  ],
  [
    'descriptors',
    { server: { ...SERVER, descriptors: { open: 60_000, limit: 65_536 } } },
    'error',
    '60000 of 65536',
    'LimitNOFILE=65536',
  ],
  ['clock', database({ latestTime: NOW + 2 * HOUR }), 'error', '2 hours behind', 'timedatectl'],
  [
    'certificate',
    certificate({ expiresAt: NOW - 3 * DAY }),
    'error',
    'expired 3 days ago',
    'certbot renew',
  ],
  [
    'certificate',
    certificate({ expiresAt: NOW + 9 * DAY }),
    'warning',
    'expires in 9 days',
    'certbot renew',
  ],
  ['certificate', certificate({ fitsKey: false }), 'error', 'do not belong', '--tls-key'],
  [
    'certificate',
    certificate({ names: ['a.example.com'], fitsAddress: false }),
    'error',
    'for a.example.com, not for the public address https://db.example.com',
    '--acme db.example.com',
  ],
  [
    'certificate',
    certificate({ isManaged: true, failure }),
    'warning',
    'No new certificate was issued: the authority does not answer',
    'systemctl restart satchel',
  ],
  ['certificate', certificate({ fault: 'cert.pem cannot be read' }), 'error', 'read', '--tls-cert'],
  [
    'port',
    { port: { holder: 'nginx (process 812)' } },
    'error',
    'by nginx (process 812)',
    '--port',
  ],
  ['port', { port: { holder: null } }, 'error', 'by another program', '--port'],
  ['mails', settings({ sendsMails: false }), 'warning', 'not sent', 'SATCHEL_SMTP_URL'],
  ['mail server', { mailFailure: 'Nothing listens' }, 'error', 'Nothing listens', 'mail test'],
  [
    'public address',
    settings({ publicUrl: 'http://db.example.com' }),
    'error',
    'not encrypted',
    'https://db.example.com',
  ],
  [
    'public address',
    settings({ hasTls: false, host: '127.0.0.1' }),
    'warning',
    'neither a certificate nor a trusted proxy',
    '--trust-proxy 127.0.0.1/32',
  ],
  [
    'rate limits',
    settings({ areLimitsOff: true }),
    'warning',
    'limits are off',
    '--rate-limits on',
  ],
  [
    'backup age',
    backups({ last: NOW - 9 * DAY }),
    'warning',
    'No backup was made for 9 days',
    'satchel backup /var/backups/satchel',
  ],
  ['backup age', backups({ last: null }), 'warning', 'No backup was made ever', 'satchel backup'],
  ['backup schedule', backups({ failure: 'The disk is full' }), 'error', 'is full', 'backup'],
  [
    'newest backup',
    backups({ newest: { name: '2030-01-30T02-30-00Z', fault: 'server.sqlite is damaged' } }),
    'error',
    '2030-01-30T02-30-00Z in /var/backups/satchel cannot be restored: server.sqlite is damaged',
    'satchel backup /var/backups/satchel',
  ],
  [
    'backup target',
    backups({ refusal: 'file system' }),
    'error',
    'its unit or the file system',
    'ReadWritePaths=/var/backups/satchel',
  ],
  [
    'backup target',
    backups({ refusal: 'owner', newest: { name: null, fault: 'it cannot be read' } }),
    'error',
    'belongs to another user',
    'install -d -m 700 /var/backups/satchel && chown -R 996:997 /var/backups/satchel',
  ],
  [
    'databases',
    database({ fault: 'it is a copy' }),
    'error',
    'main is not served: it is a copy',
    '--as main-restored',
  ],
  ['damage', signs({ damagedAnswers: 2 }), 'error', 'damaged data', 'satchel verify'],
  ['jobs', database({ stoppedJobs: 1 }), 'warning', 'has stopped', 'satchel job list --db main'],
  ['proxy', signs({ strippedUpgrades: 3 }), 'error', 'strips the header Upgrade', 'http_upgrade'],
  [
    'proxy',
    signs({ unknownProxy: '10.0.0.7' }),
    'warning',
    'Requests from 10.0.0.7',
    '--trust-proxy 10.0.0.7/32',
  ],
  ['proxy', signs({ silentProxy: '10.0.0.7' }), 'warning', 'lack X-Forwarded-For', 'nginx'],
  [
    'leftovers',
    folder({ leftovers: [{ path: 'databases/main/database.sqlite.before-1', bytes: GIB }] }),
    'warning',
    'Old copies take 1024 MiB',
    'rm -r /var/lib/satchel/databases/main/database.sqlite.before-1',
  ],
]

const TITLED = FAULTS.map(
  ([check, change, level, problem, mend]) => [check, problem, level, mend, change] as const,
)

test.each(TITLED)('%s: “%s” is found alone', (check, problem, level, mend, change) => {
  const findings = examine({ ...SOUND, ...change })
  expect(findings.map((finding) => finding.check)).toEqual([check])
  expect(findings[0]?.level).toBe(level)
  expect(findings[0]?.problem).toContain(problem)
  expect(findings[0]?.mend).toContain(mend)
})

test('each check has a fault above, and a name for the part that it looks at', () => {
  expect(new Set(FAULTS.map(([check]) => check))).toEqual(new Set(Object.keys(CHECKS)))
  for (const { looksAt } of Object.values(CHECKS))
    expect(looksAt).toMatch(/^(?:the|a|answers|copies|jobs|whether) /)
})

test('a path in a command is one word of the shell', () => {
  const [finding] = examine({ ...SOUND, ...folder({ path: "/srv/bob's data", mode: 0o755 }) })
  expect(finding?.mend).toBe(String.raw`chmod 700 '/srv/bob'\''s data'`)
})

test('a trusted proxy whose other requests say for whom they are is in order', () => {
  expect(examine({ ...SOUND, ...signs({ silentProxy: '10.0.0.7', forwarded: 1 }) })).toEqual([])
})
