import { resolve } from 'node:path'
import { findRule, OFFLOAD_RULES, type OffloadRule } from '../domain/blob/offload-rule'
import { parseMailAddress } from '../mail/address'
import { parseSender } from '../mail/sender'
import { isIPv4, isIPv6, type Networks, parseNetworks } from '../net/networks'
import { parseRateLimits, RATE_LIMIT_NAMES, type RateLimits } from '../limits/rate-limits'

/** One of a few words. Like all readers of this file it throws an error that says what is expected. */
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

/** An http(s) address without a slash at its end. */
export function publicUrl(text: string): string {
  const url = URL.parse(text)
  const isPlain =
    url !== null &&
    (url.protocol === 'https:' || url.protocol === 'http:') &&
    `${url.username}${url.password}${url.search}${url.hash}` === ''
  return isPlain
    ? url.href.replace(/\/+$/, '')
    : expect('an http(s) address without a query, such as https://data.example.com')
}

/** Networks in CIDR notation, separated by commas. */
export function networks(text: string): Networks {
  return parseNetworks(text) ?? expect('networks in CIDR notation, such as 10.0.0.0/8 or ::1/128')
}

/** How often callers may call. */
export function rateLimits(text: string): RateLimits {
  const names = RATE_LIMIT_NAMES.join(', ')
  return (
    parseRateLimits(text) ??
    expect(`on, off, or limits such as reads=1000/1m,logins=off; there are ${names}`)
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

/** A sender as mails name it. */
export function mailFrom(text: string): string {
  parseSender(text)
  return text
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
