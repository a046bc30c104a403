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
  const isSmtpFlag = sources.flags?.['smtpUrl'] !== undefined
  for (const [applies, sentence] of MISTAKES) {
    if (applies(settings, isSmtpFlag)) {
      throw new UsageError(typeof sentence === 'string' ? sentence : sentence(settings))
    }
  }
  const data = resolve(settings.data)
  const development = isDevelopment(settings)
  return Object.freeze({ ...settings, data, development, sources: usedSources })
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

type Mistake = readonly [
  applies: (settings: Settings, isSmtpFlag: boolean) => boolean,
  sentence: string | ((settings: Settings) => string),
]

/** Settings that make no sense together; the first one that applies is told. */
const MISTAKES: readonly Mistake[] = [
  [
    ({ tlsCert, tlsKey }) => (tlsCert === null) !== (tlsKey === null),
    '--tls-cert and --tls-key belong together: give both or neither',
  ],
  [
    ({ acme, tlsCert }) => acme !== null && tlsCert !== null,
    '--acme and --tls-cert cannot be combined: certificates are given, or the server gets them',
  ],
  [
    ({ acme, memory }) => acme !== null && memory,
    '--acme and --memory cannot be combined: the authority limits how many certificates a name gets, so they must be kept',
  ],
  [
    ({ acme, port }) => acme !== null && port === 0,
    '--acme needs a --port: 443, or the one to which port 443 is forwarded',
  ],
  [
    ({ acme, acmeAgreeTos }) => acme !== null && !acmeAgreeTos,
    '--acme needs --acme-agree-tos: read the terms of the authority, and agree to them',
  ],
  [({ test, testTokenFile }) => !test && testTokenFile !== null, '--test-token-file needs --test'],
  [
    ({ test, seed }) => !test && seed !== null,
    '--seed needs --test: to import data once, use satchel import',
  ],
  // Test mode is for data that may be lost, on this machine or in a container (promises.md 43).
  [
    ({ test, memory }) => test && !memory,
    '--test needs --memory: a caller with the test token may replace all data, so none of a folder is used',
  ],
  [
    ({ test, development }) => test && !development,
    '--test cannot be combined with development set to false: a server for tests is for development',
  ],
  [
    ({ test, publicUrl, trustProxy }) => test && (publicUrl !== null || trustProxy !== null),
    '--test cannot be combined with --public-url or --trust-proxy: a server for tests is not public',
  ],
  [
    ({ test, host, testTokenFile }) => test && !isLoopback(host) && testTokenFile === null,
    ({ host }) =>
      `--test on --host ${host} needs --test-token-file: other machines may reach this address`,
  ],
  [
    ({ backup, memory }) => backup !== null && memory,
    '--backup and --memory cannot be combined: data in memory is discarded at exit',
  ],
  [
    ({ backup, backupAt, backupKeep }) =>
      backup === null &&
      (backupAt !== SETTINGS.backupAt.fallback || backupKeep !== SETTINGS.backupKeep.fallback),
    '--backup-at and --backup-keep need --backup: the folder or bucket of the backups',
  ],
  [
    ({ metrics, metricsTokenFile }) => metrics === null && metricsTokenFile !== null,
    '--metrics-token-file needs --metrics',
  ],
  [
    ({ metrics, metricsNames }) => metrics === null && metricsNames,
    '--metrics-names needs --metrics',
  ],
  [
    ({ metrics, metricsTokenFile }) =>
      metrics !== null && !isLoopback(metrics.host) && metricsTokenFile === null,
    ({ metrics }) =>
      `--metrics on ${metrics?.host} needs --metrics-token-file: other machines may reach this address`,
  ],
  [
    ({ smtpUrl, mailHook }) => smtpUrl !== null && mailHook !== null,
    '--smtp-url and --mail-hook cannot be combined: give one of them',
  ],
  [
    ({ smtpUrl, mailHook, printMails }) => printMails && (smtpUrl !== null || mailHook !== null),
    '--print-mails cannot be combined with --smtp-url or --mail-hook: mails are printed, or sent',
  ],
  [
    ({ mailHook, mailHookSecret }) => mailHook !== null && mailHookSecret === null,
    `--mail-hook needs ${environmentName('mailHookSecret')}, which signs its requests: whsec_ and 32 random bytes in base64`,
  ],
  [
    ({ smtpUrl }, isSmtpFlag) => smtpUrl !== null && isSmtpFlag && holdsSecret(smtpUrl),
    `--smtp-url must not hold a password, which every user of this machine could read: set ${environmentName('smtpUrl')}`,
  ],
  [
    ({ smtpUrl, mailFrom }) =>
      smtpUrl !== null && mailFrom === null && usualSender(smtpUrl) === null,
    '--smtp-url needs --mail-from: the sender of the mails',
  ],
]

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
