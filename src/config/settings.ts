import { OFF, type OffloadRule } from '../domain/blob/offload-rule'
import type { Retention } from '../domain/backup/retention'
import type { TimeOfDay } from '../domain/backup/schedule'
import {
  acmeDirectory,
  address,
  adminUrl,
  amount,
  backupTarget,
  count,
  creationRule,
  domain,
  domains,
  email,
  endpoint,
  file,
  fileOrInput,
  folder,
  mailFrom,
  mailHook,
  mailHookSecret,
  networks,
  offloadRule,
  oneOf,
  port,
  publicUrl,
  rateLimits,
  retention,
  secretKey,
  smtpUrl,
  timeOfDay,
} from './parsers'

/** The durability of acknowledged writes (design.md §3): `relaxed` may lose the last ones on power loss. */
type Durability = 'full' | 'relaxed'

/** Lines below this level are not written; requests are `info`. */
export type LogLevel = 'debug' | 'info' | 'warning' | 'error'

export interface Setting<T> {
  readonly help: string
  /** The letter of a short flag: `-p`. */
  readonly short?: string
  /** The placeholder of the value in help: `--port <number>`. A setting without one is a switch. */
  readonly value?: string
  /** True for settings that are not flags, only in the settings file and the environment. */
  readonly withoutFlag?: true
  readonly fallback: T
  /** Throws an error whose message is the expected value: "a port between 0 and 65535". */
  parse(text: string): T
}

const MIB = 1024 * 1024

/**
 * Every setting, once: `publicUrl` in the settings file is `--public-url` on the command line and
 * `SATCHEL_PUBLIC_URL` in the environment.
 */
export const SETTINGS = {
  data: setting('./data', folder, 'folder', 'the data folder'),
  host: setting('127.0.0.1', address, 'address', 'the address to listen on'),
  port: {
    ...setting(7080, port, 'number', 'the port to listen on, 0 for any free one'),
    short: 'p',
  },
  memory: toggle('keep all data in memory and discard it at exit'),
  test: toggle(
    'serve addresses for tests at /<database>/_test: reset, snapshots, mails, the clock; needs --memory',
  ),
  testTokenFile: optional(
    file,
    'file',
    'the token of the addresses for tests, for a server in a container: needed on another address than loopback',
  ),
  schema: optional(
    fileOrInput,
    'file',
    'declare the tables of this schema file, or of the schema in an import file, at every start; - reads standard input',
  ),
  seed: optional(
    fileOrInput,
    'path',
    'with --test: import this file, or all files of a folder, at the start and at every reset; - reads standard input',
  ),
  durability: setting<Durability>(
    'full',
    oneOf('full', 'relaxed'),
    'mode',
    'full: an acknowledged write survives power loss; relaxed: it survives a crash of the program',
  ),
  domain: optional(domain, 'name', 'serve every database at <database>.<name> as well'),
  publicUrl: optional(publicUrl, 'url', 'the public address, for mails and logins'),
  trustProxy: optional(
    networks,
    'cidr',
    'trust the forwarded headers of these networks, separated by commas',
  ),
  rateLimits: optional(
    rateLimits,
    'limits',
    'on, off, or the limits to change: reads=1000/1m,tokens=off (default: on, in development off)',
  ),
  allowPrivateAddresses: optional(
    networks,
    'cidr',
    'the private networks that logins and web hooks may call, separated by commas',
  ),
  smtpUrl: optional(
    smtpUrl,
    'url',
    'send mails through this server, smtp://user@host:port; only the environment and the settings file may have a password in it',
  ),
  mailHook: optional(mailHook, 'url', 'send mails through this web hook instead of a mail server'),
  mailFrom: optional(mailFrom, 'sender', 'the sender of mails, such as "My App <app@example.com>"'),
  printMails: toggle(
    'print mails in the terminal and the log instead of sending them, as in development: for tests in a local network',
  ),
  offloadBeyond: setting<OffloadRule>(
    OFF,
    offloadRule,
    'size',
    'store larger files, binary values and texts in objects as blobs: a number of bytes, clients (as clients offload) or off (default)',
  ),
  blobQuota: optional(
    amount,
    'bytes',
    'the quota for all blobs of a database without its own quota, such as 20GB',
  ),
  userBlobQuota: optional(amount, 'bytes', 'the quota for the uploads of each user, such as 500MB'),
  createDatabases: optional(
    creationRule,
    'rule',
    'people who may create databases with dexie-cloud create: anyone, off, or addresses and domains such as ada@example.com,@example.org (default: off, in development anyone)',
  ),
  backup: optional(
    backupTarget,
    'target',
    'back up all databases each day to this folder, or to s3://bucket/prefix',
  ),
  backupAt: setting<TimeOfDay>(
    { hours: 2, minutes: 30 },
    timeOfDay,
    'time',
    'the time of day of the backup, in the time zone of the machine (default: 02:30)',
  ),
  backupKeep: setting<Retention>(
    { days: 7, weeks: 4, months: 12 },
    retention,
    'numbers',
    'keep the last backup of each of so many days, weeks and months (default: 7d,4w,12m)',
  ),
  backupKeyFile: optional(
    file,
    'file',
    'seal backups in a bucket with the key in this file: 32 random bytes in base64',
  ),
  backupPlain: toggle('do not seal backups in a bucket; the keys of databases are left out then'),
  tlsCert: optional(
    file,
    'file',
    'serve https with this certificate chain (PEM), reloaded when it changes',
  ),
  tlsKey: optional(file, 'file', 'the private key of the certificate (PEM)'),
  metrics: optional(
    endpoint,
    'address',
    'answer scrapes of Prometheus at http://<address>/metrics, such as 127.0.0.1:9464',
  ),
  metricsTokenFile: optional(
    file,
    'file',
    'the bearer token of scrapes: needed on another address than loopback',
  ),
  metricsNames: toggle('name up to 50 databases in the metrics'),
  acme: optional(
    domains,
    'names',
    'get certificates for these names, separated by commas, and renew them',
  ),
  acmeEmail: optional(email, 'address', 'where the authority of the certificates may write to'),
  acmeAgreeTos: toggle('agree to the terms of the authority of the certificates'),
  acmeDirectory: optional(
    acmeDirectory,
    'url',
    "the authority of the certificates, by its directory (default: Let's Encrypt)",
  ),
  acmePort: setting(
    80,
    port,
    'number',
    'the port on which the authority checks the names; it always asks port 80, so another one needs a forwarder',
  ),
  noAdmin: toggle('do not serve the page for administrators at /admin'),
  adminNetworks: optional(
    networks,
    'cidr',
    'the networks that may open the page for administrators, separated by commas (default: this machine)',
  ),
  adminUrl: optional(
    adminUrl,
    'url',
    'the address of the page for administrators, where it is not --public-url: an origin that serves nothing else',
  ),
  logLevel: setting<LogLevel>(
    'info',
    oneOf('debug', 'info', 'warning', 'error'),
    'level',
    'the lowest level to log: debug, info, warning or error',
  ),
  maxBody: rare(16 * MIB, count, 'bytes', 'the largest JSON body'),
  maxDepth: rare(64, count, 'levels', 'the maximum nesting depth of a JSON body'),
  maxValues: rare(1_000_000, count, 'values', 'the maximum number of values in a JSON body'),
  maxProperties: rare(50_000, count, 'properties', 'the maximum number of properties of an object'),
  maxObjects: rare(50_000, count, 'objects', 'the maximum number of objects in a request'),
  maxRows: rare(
    5_000,
    count,
    'rows',
    'the maximum number of rows of realms, members or roles in a request',
  ),
  maxEntries: rare(10_000, count, 'entries', 'the maximum number of index entries of an object'),
  maxRequestEntries: rare(
    200_000,
    count,
    'entries',
    'the maximum number of index entries of the objects in a request, and of those that it replaces',
  ),
  maxBlob: rare(1024 * MIB, amount, 'bytes', 'the largest blob'),
  maxDatabases: rare(
    1_000,
    count,
    'databases',
    'the maximum number of databases before dexie-cloud create is refused',
  ),
  maxSilence: rare(
    60,
    count,
    'seconds',
    'how long an upload may stall, of a blob or to the page for administrators (the body of a sync: 30 seconds at most)',
  ),
  maxExpiresIn: rare(86_400, count, 'seconds', 'the longest lifetime of a token'),
  maxNotBefore: rare(86_400, count, 'seconds', 'how far in the future a token may begin'),
  maxClockSkew: rare(86_400, count, 'seconds', 'how far the clock of a client may be wrong'),
  development: {
    ...toggle(
      'false: a server on loopback without a public address behaves as a public one: codes are not printed, rate limits apply, no person creates databases',
    ),
    fallback: true,
    withoutFlag: true,
  },
  // Not flags: everyone on the machine can read the command line of a process.
  secretKey: rare<Uint8Array | null>(
    null,
    secretKey,
    'base64',
    'seals the secrets of all databases, which else have a key each; 32 bytes, changed by satchel key reseal',
  ),
  backupKey: rare<Uint8Array | null>(
    null,
    secretKey,
    'base64',
    'seals backups in a bucket; 32 bytes',
  ),
  mailHookSecret: rare<string | null>(
    null,
    mailHookSecret,
    'secret',
    'signs requests to --mail-hook (Standard Webhooks)',
  ),
} as const satisfies Record<string, Setting<unknown>>

/** The variables that `satchel test exec` gives to its command. */
export const EXEC_VARIABLES = [
  'SATCHEL_TEST_URL',
  'SATCHEL_TEST_TOKEN',
  'SATCHEL_TEST_CLIENT_ID',
  'SATCHEL_TEST_CLIENT_SECRET',
  'SATCHEL_TEST_FOLDER',
] as const

type SettingName = keyof typeof SETTINGS
export type Settings = {
  readonly [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]['parse']>
}

/** `SATCHEL_PUBLIC_URL` for `publicUrl`. */
export function environmentName(setting: string): string {
  return `SATCHEL_${setting.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`
}

/** `--public-url` for `publicUrl`. */
export function flagName(setting: string): string {
  return `--${setting.replaceAll(/[A-Z]/g, '-$&').toLowerCase()}`
}

function setting<T>(
  fallback: T,
  parse: (text: string) => T,
  value: string,
  help: string,
): Setting<T> {
  return { fallback, parse, value, help }
}

/** A setting that is null unless it is given. */
function optional<T>(parse: (text: string) => T, value: string, help: string): Setting<T | null> {
  return { fallback: null, parse, value, help }
}

function rare<T>(
  ...[fallback, parse, value, help]: Parameters<typeof setting<T>>
): Setting<T> & { readonly withoutFlag: true } {
  return { ...setting(fallback, parse, value, help), withoutFlag: true }
}

function toggle(help: string): Setting<boolean> {
  return { fallback: false, help, parse: (text) => oneOf('true', 'false')(text) === 'true' }
}
