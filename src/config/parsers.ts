import { resolve } from 'node:path'
import { findRule, OFFLOAD_RULES, type OffloadRule } from '../domain/blob/offload-rule'
import { parseRetention, type Retention } from '../domain/backup/retention'
import { parseTimeOfDay, type TimeOfDay } from '../domain/backup/schedule'
import { type CreationRule, findCreationRule } from '../domain/database/creation'
import { parseRateLimits, RATE_LIMIT_NAMES, type RateLimits } from '../limits/rate-limits'
import { parseMailAddress } from '../mail/address'
import { parseSender } from '../mail/message'
import { isIPv4, isIPv6, isLoopback, type Networks, parseNetworks } from '../net/networks'
import { serverAddressOf } from '../domain/value/web-address'
import { isWebhookSecret } from '../domain/value/webhook-signature'

/** An address and a port of this machine. */
export interface Endpoint {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
}

/** One of these words. Like every parser here it throws an error whose message is the expected value. */
export function oneOf<T extends string>(...choices: readonly T[]): (text: string) => T {
  return (text) => {
    const choice = choices.find((candidate) => candidate === text)
    return choice ?? expect(choices.join(' or '))
  }
}

/** The path of a folder, as it was given. */
export function folder(text: string): string {
  return text === '' ? expect('the path of a folder') : text
}

/** The absolute path of a file. */
export function file(text: string): string {
  return text === '' ? expect('the path of a file') : resolve(text)
}

/** The absolute path of a file, or `-` for standard input. */
export function fileOrInput(text: string): string {
  return text === '-' ? text : file(text)
}

/** An IP address, without the brackets of IPv6, or `localhost`. */
export function address(text: string): string {
  const bare = text.replace(/^\[(.*)\]$/, '$1')
  if (isIPv4(bare) || isIPv6(bare) || bare === 'localhost') return bare
  return expect('an IP address of this machine, such as 127.0.0.1 or 0.0.0.0, or localhost')
}

/** A port, 0 for any free one. */
export function port(text: string): number {
  return wholeNumber(text, 65_535) ?? expect('a port between 0 and 65535')
}

/** An address with a port. */
export function endpoint(text: string): Endpoint {
  const [, host = '', digits = ''] = /^(.+):(\d+)$/.exec(text) ?? []
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  const isHost = isIPv4(bare) || bare === 'localhost' || (bare !== host && isIPv6(bare))
  const number = wholeNumber(digits, 65_535)
  if (isHost && number !== undefined) return { host: bare, port: number }
  return expect('an IP address of this machine or localhost, and a port, such as 127.0.0.1:9464')
}

/** A whole number from 1. */
export function count(text: string): number {
  return wholeNumber(text, Number.MAX_SAFE_INTEGER) || expect('a whole number, at least 1')
}

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  K: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  KI: 2 ** 10,
  MI: 2 ** 20,
  GI: 2 ** 30,
  TI: 2 ** 40,
}

/** A number of bytes from 1: `1500`, `20GB`, `1.5 MiB`. */
export function amount(text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,16}(?:\.\d{1,9})?) ?([KMGT]I?)?B?$/i.exec(text) ?? []
  const bytes = Math.floor(Number(number) * (UNITS[unit.toUpperCase()] ?? 0))
  if (number !== '' && bytes >= 1 && Number.isSafeInteger(bytes)) return bytes
  return expect('a number of bytes, such as 1500, 20GB or 512MiB')
}

/** A domain name in lower case. */
export function domain(text: string): string {
  const name = text.toLowerCase()
  const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
  const isName =
    name.length <= 253 && !isIPv4(name) && name.split('.').every((part) => label.test(part))
  return isName ? name : expect('a domain name, such as example.com')
}

/** Domain names, separated by commas. */
export function domains(text: string): readonly string[] {
  const names = text.split(',').map((name) => domain(name.trim()))
  return names.length <= MAX_NAMES ? [...new Set(names)] : expect('at most 100 domain names')
}

/** As many as Let's Encrypt puts into a certificate. */
const MAX_NAMES = 100

/** A mail address. */
export function email(text: string): string {
  return /^[^\s@,?]+@[^\s@,?]+$/.test(text) ? text : expect('a mail address')
}

/** The directory of an authority for certificates. */
export function acmeDirectory(text: string): string {
  const url = URL.parse(text)
  const isSafe =
    url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
  return isSafe ? text : expect('the https address of the directory of an authority')
}

/** An http(s) address without a slash at its end. */
export function publicUrl(text: string): string {
  return (
    serverAddressOf(text) ??
    expect('an http(s) address without a query, such as https://data.example.com')
  )
}

/** An https origin, or one of this machine. */
export function adminUrl(text: string): string {
  const url = URL.parse(serverAddressOf(text) ?? '')
  const isSafe =
    url?.protocol === 'https:' || isLoopback(url?.hostname.replace(/^\[(.*)\]$/, '$1') ?? '')
  return url !== null && isSafe && url.pathname === '/'
    ? url.origin
    : expect('an https address without a path, such as https://admin.example.com')
}

/** Networks in CIDR notation, separated by commas. */
export function networks(text: string): Networks {
  return parseNetworks(text) ?? expect('networks in CIDR notation, such as 10.0.0.0/8 or ::1/128')
}

/** Rate limits. */
export function rateLimits(text: string): RateLimits {
  const names = RATE_LIMIT_NAMES.join(', ')
  return (
    parseRateLimits(text) ??
    expect(`on, off, or limits such as reads=1000/1m,logins=off; there are ${names}`)
  )
}

/** The people who may create databases. */
export function creationRule(text: string): CreationRule {
  return (
    findCreationRule(text) ??
    expect('anyone, off, or addresses and domains such as ada@example.com,@example.org')
  )
}

/** When values of objects become blobs. */
export function offloadRule(text: string): OffloadRule {
  return findRule(text) ?? expect(OFFLOAD_RULES)
}

/** The address of a mail server. */
export function smtpUrl(text: string): string {
  const isServer = parseMailAddress(text).kind === 'smtp'
  return isServer ? text : expect('the address of a mail server: smtp://… or smtps://…')
}

/** The address of a web hook that sends mails. */
export function mailHook(text: string): string {
  const isHook = parseMailAddress(text).kind === 'hook'
  return isHook ? text : expect('the https address of a web hook')
}

/** The secret that signs requests to a web hook. */
export function mailHookSecret(text: string): string {
  return isWebhookSecret(text)
    ? text
    : expect('whsec_ and 24 to 64 random bytes in base64: echo "whsec_$(openssl rand -base64 32)"')
}

/** The sender of mails. */
export function mailFrom(text: string): string {
  parseSender(text)
  return text
}

/** The absolute path of a folder, or the address of a bucket. */
export function backupTarget(text: string): string {
  return text.startsWith('s3://') ? text : file(text)
}

/** A time of day. */
export function timeOfDay(text: string): TimeOfDay {
  return parseTimeOfDay(text) ?? expect('a time of day, such as 02:30')
}

/** How many backups are kept. */
export function retention(text: string): Retention {
  return parseRetention(text) ?? expect('numbers of days, weeks and months, such as 7d,4w,12m')
}

/** 32 bytes, from base64 or base64url. */
export function secretKey(text: string): Uint8Array {
  const key = Buffer.from(text, 'base64')
  const isWhole = /^[A-Za-z0-9+/_-]+={0,2}$/.test(text) && key.length === 32
  return isWhole
    ? new Uint8Array(key)
    : expect('32 random bytes in base64: openssl rand -base64 32')
}

function wholeNumber(text: string, most: number): number | undefined {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  return number <= most ? number : undefined
}

function expect(what: string): never {
  throw new Error(what)
}
