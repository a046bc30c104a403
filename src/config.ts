import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import process from 'node:process'
import { OFF, type OffloadRule } from './domain/blob/offload-rule'
import { holdsSecret, usualSender } from './mail/address'
import type { Networks } from './networks'
import type { RateLimits } from './rate-limits'
import {
  address,
  amount,
  count,
  domain,
  file,
  folder,
  isLoopback,
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
} from './setting'

/** Something the person at the keyboard can put right: bad flags, settings or arguments (exit code 2). */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** How sure an acknowledged write is (design.md §3): `relaxed` may lose the last moments on power loss. */
export type Durability = 'full' | 'relaxed'

/** Lines below this level are not written; requests are `info`. */
export type LogLevel = 'debug' | 'info' | 'warning' | 'error'

interface Setting<T> {
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
type Settings = { readonly [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]['parse']> }

/** The settings of one process, frozen. */
export interface Config extends Settings {
  /**
   * A loopback address, no public address and no proxy (design.md §2). A request with a forwarded
   * header ends it for its server: that is for the front door to see.
   */
  readonly development: boolean
}

/** Where settings may come from; the later wins, unnamed ones fall back to the defaults. */
export interface Sources {
  /** A JSON file with some of the settings. Nothing is read that is not named here. */
  readonly file?: string | undefined
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** By setting name, as text; switches are `true`. */
  readonly flags?: Readonly<Record<string, unknown>>
}

/** Throws `UsageError` naming the flag, variable or key that is wrong and what it should be. */
export function readConfig(sources: Sources = {}): Config {
  const environment = sources.environment ?? process.env
  const fromFile = readSettingsFile(sources.file)
  const given: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries<Setting<unknown>>(SETTINGS)) {
    const variable = environmentName(name)
    const found = firstGiven(
      [flagName(name), sources.flags?.[name]],
      [variable, environment[variable] === '' ? undefined : environment[variable]],
      [`${name} in ${sources.file}`, fromFile[name]],
    )
    given[name] = found === undefined ? setting.fallback : parseAs(setting, ...found)
  }
  const settings = given as unknown as Settings
  if ((settings.tlsCert === null) !== (settings.tlsKey === null)) {
    throw new UsageError('--tls-cert and --tls-key go together: give both or neither')
  }
  requireMailSettings(settings, sources.flags?.['smtpUrl'] !== undefined)
  const data = resolve(settings.data)
  return Object.freeze({ ...settings, data, development: isDevelopment(settings) })
}

/** `SATCHEL_PUBLIC_URL` for `publicUrl`. */
export function environmentName(setting: string): string {
  return `SATCHEL_${setting.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`
}

/** `--public-url` for `publicUrl`. */
export function flagName(setting: string): string {
  return `--${setting.replaceAll(/[A-Z]/g, '-$&').toLowerCase()}`
}

function isDevelopment(settings: Settings): boolean {
  return isLoopback(settings.host) && settings.publicUrl === null && settings.trustProxy === null
}

function requireMailSettings({ smtpUrl, mailHook, mailFrom }: Settings, isFlag: boolean): void {
  if (smtpUrl !== null && mailHook !== null) {
    throw new UsageError('--smtp-url and --mail-hook exclude each other: give one of them')
  }
  if (smtpUrl === null) return
  if (isFlag && holdsSecret(smtpUrl)) {
    throw new UsageError(
      `--smtp-url must not hold a password, which everyone on this machine could read: set ${environmentName('smtpUrl')}`,
    )
  }
  if (mailFrom === null && usualSender(smtpUrl) === null) {
    throw new UsageError('--smtp-url needs --mail-from: who the mails come from')
  }
}

type Given = readonly [source: string, value: unknown]

function firstGiven(...sources: readonly Given[]): Given | undefined {
  return sources.find(([, value]) => value !== undefined)
}

function parseAs(setting: Setting<unknown>, source: string, value: unknown): unknown {
  try {
    return setting.parse(Array.isArray(value) ? value.join(',') : String(value))
  } catch (error) {
    const expected = error instanceof Error ? error.message : String(error)
    throw new UsageError(`${source} must be ${expected}`, { cause: error })
  }
}

function readSettingsFile(path: string | undefined): Record<string, unknown> {
  if (path === undefined) return {}
  let parsed: unknown
  try {
    parsed = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new UsageError(`The settings file ${path} cannot be read: ${reason}`, { cause: error })
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new UsageError(`The settings file ${path} must hold one JSON object`)
  }
  const unknown = Object.keys(parsed).find((name) => !Object.hasOwn(SETTINGS, name))
  if (unknown !== undefined) {
    const known = Object.keys(SETTINGS).join(', ')
    throw new UsageError(
      `The settings file ${path} has the unknown setting ${JSON.stringify(unknown)}; known are ${known}`,
    )
  }
  return { ...parsed }
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
