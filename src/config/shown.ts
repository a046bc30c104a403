import type { Settings } from './settings'
import { SETTINGS } from './settings'

/** The values of all settings by name, as texts; empty for one that is not set. None of them is secret. */
export function shownSettings(config: Settings): Readonly<Record<string, string>> {
  return Object.fromEntries(NAMES.map((name) => [name, shown(config, name)]))
}

const NAMES = Object.keys(SETTINGS) as (keyof Settings)[]
/** Their values, or parts of them, must not be shown. */
const SECRET: ReadonlySet<string> = new Set([
  'secretKey',
  'backupKey',
  'mailHook',
  'mailHookSecret',
  'smtpUrl',
])

function shown(config: Settings, name: keyof Settings): string {
  const value: unknown = config[name]
  if (value === null) return ''
  if (SECRET.has(name)) return 'set'
  return FORMS[name]?.(config) ?? (typeof value === 'string' ? value : JSON.stringify(value))
}

/** Settings that are shown as they are written. */
const FORMS: { readonly [Name in keyof Settings]?: (config: Settings) => string } = {
  offloadBeyond: ({ offloadBeyond }) => offloadBeyond.text,
  backupAt: ({ backupAt: { hours, minutes } }) =>
    [hours, minutes].map((part) => String(part).padStart(2, '0')).join(':'),
  backupKeep: ({ backupKeep: { days, weeks, months } }) => `${days}d,${weeks}w,${months}m`,
}
