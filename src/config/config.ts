import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import process from 'node:process'
import { holdsSecret, usualSender } from '../mail/address'
import { isLoopback } from '../net/networks'
import { because } from '../net/system-error'
import {
  environmentName,
  EXEC_VARIABLES,
  flagName,
  type Setting,
  type Settings,
  SETTINGS,
} from './settings'
import { isRecord } from '../domain/value/value'

/** An error in flags, settings or arguments, which the user can correct (exit code 2). */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The settings of one process, frozen. */
export interface Config extends Settings {
  /**
   * A loopback address, no public address and no proxy (design.md §2), unless the setting is false, or test mode. A
   * request with a forwarded header ends development mode, which the server notices.
   */
  readonly development: boolean
  /** The flag, the variable or the key of the file by the name of each setting that was given. */
  readonly sources: Readonly<Record<string, string>>
}

/** The sources of settings; a later one wins, and missing settings have their defaults. */
export interface Sources {
  /** A JSON file with some of the settings. No other file is read. */
  readonly file?: string | undefined
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** By setting name, as text; switches are `true`. */
  readonly flags?: Readonly<Record<string, unknown>>
}

/** Throws `UsageError` with the name of the wrong flag, variable or key and the value it expects. */
export function readConfig(sources: Sources = {}): Config {
  const environment = sources.environment ?? process.env
  requireKnownVariables(environment)
  const fromFile = readSettingsFile(sources.file)
  const given: Record<string, unknown> = {}
  const usedSources: Record<string, string> = {}
  for (const [name, setting] of Object.entries<Setting<unknown>>(SETTINGS)) {
    const variable = environmentName(name)
    const found = firstGiven(
      [flagName(name), sources.flags?.[name]],
      [variable, environment[variable] === '' ? undefined : environment[variable]],
      [`${name} in ${sources.file}`, fromFile[name]],
    )
    given[name] = found === undefined ? setting.fallback : parseAs(setting, ...found)
    if (found !== undefined) [usedSources[name]] = found
  }
  const settings = withPublicUrl(given as unknown as Settings)
  if ((settings.tlsCert === null) !== (settings.tlsKey === null)) {
    throw new UsageError('--tls-cert and --tls-key belong together: give both or neither')
  }
  requireAcmeSettings(settings)
  requireTestSettings(settings)
  if (settings.backup !== null && settings.memory) {
    throw new UsageError(
      '--backup and --memory cannot be combined: data in memory is discarded at exit',
    )
  }
  if (settings.backup === null && hasBackupTimes(settings)) {
    throw new UsageError(
      '--backup-at and --backup-keep need --backup: the folder or bucket of the backups',
    )
  }
  requireMetricsSettings(settings)
  requireMailSettings(settings, sources.flags?.['smtpUrl'] !== undefined)
  const data = resolve(settings.data)
  const development = isDevelopment(settings)
  return Object.freeze({ ...settings, data, development, sources: usedSources })
}

function hasBackupTimes({ backupAt, backupKeep }: Settings): boolean {
  return backupAt !== SETTINGS.backupAt.fallback || backupKeep !== SETTINGS.backupKeep.fallback
}

/** A server that has certificates for its names is public at the first of them. */
function withPublicUrl(settings: Settings): Settings {
  const { acme, publicUrl, port } = settings
  if (acme === null || publicUrl !== null) return settings
  return { ...settings, publicUrl: `https://${acme[0]}${port === 443 ? '' : `:${port}`}` }
}

function isDevelopment(settings: Settings): boolean {
  if (settings.test) return true
  if (!settings.development) return false
  return isLoopback(settings.host) && settings.publicUrl === null && settings.trustProxy === null
}

function requireAcmeSettings({ acme, acmeAgreeTos, tlsCert, memory, port }: Settings): void {
  if (acme === null) return
  if (tlsCert !== null) {
    throw new UsageError(
      '--acme and --tls-cert cannot be combined: certificates are given, or the server gets them',
    )
  }
  if (memory) {
    throw new UsageError(
      '--acme and --memory cannot be combined: the authority limits how many certificates a name gets, so they must be kept',
    )
  }
  if (port === 0) {
    throw new UsageError('--acme needs a --port: 443, or the one to which port 443 is forwarded')
  }
  if (!acmeAgreeTos) {
    throw new UsageError(
      '--acme needs --acme-agree-tos: read the terms of the authority, and agree to them',
    )
  }
}

/** Test mode is for data that may be lost, on this machine or in a container (promises.md 43). */
function requireTestSettings(settings: Settings): void {
  const { test, testTokenFile, seed, memory, host, publicUrl, trustProxy, development } = settings
  if (!test) {
    if (testTokenFile !== null) throw new UsageError('--test-token-file needs --test')
    if (seed !== null) {
      throw new UsageError('--seed needs --test: to import data once, use satchel import')
    }
    return
  }
  if (!memory) {
    throw new UsageError(
      '--test needs --memory: a caller with the test token may replace all data, so none of a folder is used',
    )
  }
  if (!development) {
    throw new UsageError(
      '--test cannot be combined with development set to false: a server for tests is for development',
    )
  }
  if (publicUrl !== null || trustProxy !== null) {
    throw new UsageError(
      '--test cannot be combined with --public-url or --trust-proxy: a server for tests is not public',
    )
  }
  if (!isLoopback(host) && testTokenFile === null) {
    throw new UsageError(
      `--test on --host ${host} needs --test-token-file: other machines may reach this address`,
    )
  }
}

function requireMetricsSettings({ metrics, metricsTokenFile, metricsNames }: Settings): void {
  if (metrics === null) {
    if (metricsTokenFile !== null) throw new UsageError('--metrics-token-file needs --metrics')
    if (metricsNames) throw new UsageError('--metrics-names needs --metrics')
    return
  }
  if (!isLoopback(metrics.host) && metricsTokenFile === null) {
    throw new UsageError(
      `--metrics on ${metrics.host} needs --metrics-token-file: other machines may reach this address`,
    )
  }
}

function requireMailSettings(
  { smtpUrl, mailHook, mailHookSecret, mailFrom, printMails }: Settings,
  isFlag: boolean,
): void {
  if (smtpUrl !== null && mailHook !== null) {
    throw new UsageError('--smtp-url and --mail-hook cannot be combined: give one of them')
  }
  if (printMails && (smtpUrl !== null || mailHook !== null)) {
    throw new UsageError(
      '--print-mails cannot be combined with --smtp-url or --mail-hook: mails are printed, or sent',
    )
  }
  if (mailHook !== null && mailHookSecret === null) {
    throw new UsageError(
      `--mail-hook needs ${environmentName('mailHookSecret')}, which signs its requests: whsec_ and 32 random bytes in base64`,
    )
  }
  if (smtpUrl === null) return
  if (isFlag && holdsSecret(smtpUrl)) {
    throw new UsageError(
      `--smtp-url must not hold a password, which every user of this machine could read: set ${environmentName('smtpUrl')}`,
    )
  }
  if (mailFrom === null && usualSender(smtpUrl) === null) {
    throw new UsageError('--smtp-url needs --mail-from: the sender of the mails')
  }
}

/**
 * For a server, which keeps its data on a disk or in memory: throws `UsageError` when the sources of its settings name a
 * folder beside `memory`.
 */
export function requireOneStorage({ memory }: Config, sources: Sources): void {
  if (!memory) return
  const folders: readonly Given[] = [
    ['--data', sources.flags?.['data']],
    ['SATCHEL_DATA', (sources.environment ?? process.env)['SATCHEL_DATA'] || undefined],
    [`data in ${sources.file}`, readSettingsFile(sources.file)['data']],
  ]
  const [name] = firstGiven(...folders) ?? []
  if (name === undefined) return
  throw new UsageError(
    `${name} and --memory cannot be combined: data in memory is in no folder and is lost at exit. Leave one of them out`,
  )
}

/** A variable with a wrong name would be a setting that has no effect, like a wrong name in the settings file. */
function requireKnownVariables(environment: Sources['environment'] & object): void {
  const unknown = Object.keys(environment).find(
    (name) => name.startsWith('SATCHEL_') && !KNOWN_VARIABLES.has(name) && !SERVICE.test(name),
  )
  if (unknown === undefined || environment[unknown] === undefined) return
  throw new UsageError(
    `The environment has the unknown variable ${JSON.stringify(unknown)}; known are ${[...KNOWN_VARIABLES].join(', ')}`,
  )
}

/** The variable with the key to which `satchel key reseal` changes. */
export const NEW_SECRET_KEY = 'SATCHEL_NEW_SECRET_KEY'

const KNOWN_VARIABLES: ReadonlySet<string> = new Set([
  ...Object.keys(SETTINGS).map(environmentName),
  ...EXEC_VARIABLES,
  'SATCHEL_EXECUTABLE',
  NEW_SECRET_KEY,
])

/** The variables that Kubernetes gives to all containers when a service is called `satchel`. */
const SERVICE = /^SATCHEL_(?:SERVICE_(?:HOST|PORT)(?:_\w+)?|PORT_\d+_(?:TCP|UDP)(?:_\w+)?)$/

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

/** Loaded on use: few processes have such a file, and the parser takes long to load. */
const settingsFile = () => require('./settings-file') as typeof import('./settings-file')

function readSettingsFile(path: string | undefined): Record<string, unknown> {
  if (path === undefined) return {}
  const { parsed, mistake } = settingsFile().parseSettings(readText(path))
  if (mistake !== undefined) {
    throw new UsageError(`The settings file ${path} is not JSON: ${mistake}`)
  }
  if (!isRecord(parsed)) {
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

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`The settings file ${path} cannot be read${because(error)}`, {
      cause: error,
    })
  }
}
