import { OFF, type OffloadRule } from '../domain/blob/offload-rule'
import type { Networks } from '../net/networks'
import type { RateLimits } from '../limits/rate-limits'
import {
  address,
  amount,
  count,
  domain,
  file,
  folder,
  mailFrom,
  mailHook,
  networks,
  offloadRule,
  oneOf,
  port,
  publicUrl,
  rateLimits,
  secretKey,
  smtpUrl,
} from './setting-values'

/** How sure an acknowledged write is (design.md §3): `relaxed` may lose the last moments on power loss. */
type Durability = 'full' | 'relaxed'

/** Lines below this level are not written; requests are `info`. */
export type LogLevel = 'debug' | 'info' | 'warning' | 'error'

export interface Setting<T> {
  readonly help: string
  /** What the value is called in help: `--port <number>`. A setting without one is a switch. */
  readonly value?: string
  /** True for what only the settings file and the environment may say. */
  readonly withoutFlag?: true
  readonly fallback: T
  /** Throws an error that says what is expected: "a port between 0 and 65535". */
  parse(text: string): T
}

const MIB = 1024 * 1024

/**
 * Every setting, once: `publicUrl` in the settings file is `--public-url` on the command line and
 * `SATCHEL_PUBLIC_URL` in the environment.
 */
export const SETTINGS = {
  data: setting('./data', folder, 'folder', 'the folder that holds everything'),
  host: setting('127.0.0.1', address, 'address', 'the address to listen on'),
  port: setting(7080, port, 'number', 'the port to listen on, 0 for any free one'),
  memory: toggle('keep everything in memory and forget it at exit'),
  durability: setting<Durability>(
    'full',
    oneOf('full', 'relaxed'),
    'mode',
    'full: an acknowledged write survives power loss; relaxed: it survives a crash of the program',
  ),
  domain: setting<string | null>(
    null,
    domain,
    'name',
    'serve every database at <database>.<name> too',
  ),
  publicUrl: setting<string | null>(
    null,
    publicUrl,
    'url',
    'the address the outside world uses, for mails and logins',
  ),
  trustProxy: setting<Networks | null>(
    null,
    networks,
    'cidr',
    'believe the forwarded headers of these networks, separated by commas',
  ),
  rateLimits: setting<RateLimits | null>(
    null,
    rateLimits,
    'limits',
    'on, off, or limits that differ: reads=1000/1m,tokens=off; off by default in development alone',
  ),
  allowPrivateAddresses: setting<Networks | null>(
    null,
    networks,
    'cidr',
    'let logins and web hooks call these private networks, separated by commas',
  ),
  smtpUrl: setting<string | null>(
    null,
    smtpUrl,
    'url',
    'send mails through this server, smtp://user@host:port; with a password only from environment or file',
  ),
  mailHook: setting<string | null>(
    null,
    mailHook,
    'url',
    'let this web hook send the mails, instead of a mail server',
  ),
  mailFrom: setting<string | null>(
    null,
    mailFrom,
    'sender',
    'who mails come from, such as "My App <app@example.com>"',
  ),
  offloadBeyond: setting<OffloadRule>(
    OFF,
    offloadRule,
    'size',
    'make blobs of larger files, bytes and texts in objects: a number of bytes, clients (what they do themselves) or off (default)',
  ),
  blobQuota: setting<number | null>(
    null,
    amount,
    'bytes',
    'how much room a database has for blobs, such as 20GB, unless it says otherwise itself',
  ),
  userBlobQuota: setting<number | null>(
    null,
    amount,
    'bytes',
    'how much room each user has for what they upload, such as 500MB',
  ),
  tlsCert: setting<string | null>(
    null,
    file,
    'file',
    'serve https with this certificate chain (PEM), reloaded when it changes',
  ),
  tlsKey: setting<string | null>(null, file, 'file', 'the private key of the certificate (PEM)'),
  logLevel: setting<LogLevel>(
    'info',
    oneOf('debug', 'info', 'warning', 'error'),
    'level',
    'the least important lines to log: debug, info, warning or error',
  ),
  maxBody: rare(16 * MIB, count, 'bytes', 'the largest JSON body'),
  maxDepth: rare(64, count, 'levels', 'the deepest nesting of a JSON body'),
  maxValues: rare(1_000_000, count, 'values', 'the most values in one JSON body'),
  maxBlob: rare(1024 * MIB, amount, 'bytes', 'the largest blob'),
  maxSilence: rare(60, count, 'seconds', 'how long the sender of a blob may send nothing'),
  maxExpiresIn: rare(86_400, count, 'seconds', 'the longest life a token may ask for'),
  maxNotBefore: rare(86_400, count, 'seconds', 'how far ahead a token may begin'),
  maxClockSkew: rare(86_400, count, 'seconds', 'how wrong the clock of a client may be'),
  // Not a flag: everyone on the machine can read the command line of a process.
  secretKey: rare<Uint8Array | null>(null, secretKey, 'base64', 'seals signing keys; 32 bytes'),
} as const satisfies Record<string, Setting<unknown>>

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

function rare<T>(
  ...[fallback, parse, value, help]: Parameters<typeof setting<T>>
): Setting<T> & { readonly withoutFlag: true } {
  return { ...setting(fallback, parse, value, help), withoutFlag: true }
}

function toggle(help: string): Setting<boolean> {
  return { fallback: false, help, parse: (text) => oneOf('true', 'false')(text) === 'true' }
}
