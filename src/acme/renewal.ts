import type { KeyObject, X509Certificate } from 'node:crypto'
import type { Clock } from '../clock'
import { DAY, HOUR, MINUTE } from '../domain/value/time'
import { serverLog } from '../log/log'
import { type CertificateStatus, parseCertificate } from '../net/certificate'
import { type AcmeAccount, AcmeError } from './client'
import { type CertificateFiles, newKey, type RenewalState } from './certificate-files'

/** Gets the certificate of a server and renews it. */
export interface Renewal extends AsyncDisposable {
  /** Does what is due; resolves when it has ended. Never throws. */
  look(): Promise<void>
  status(): CertificateStatus
}

export interface RenewalParts {
  readonly clock: Clock
  /** Calls `work` again and again, until it is disposed. */
  readonly every: (ms: number, work: () => void) => Disposable
  /** From 0 to 1, without 1. */
  readonly random: () => number
  readonly files: CertificateFiles
  readonly names: readonly string[]
  /** Opens the account at the authority; the signal ends everything that is under way. */
  readonly open: (accountKey: KeyObject, signal: AbortSignal) => Promise<AcmeAccount>
  /** Takes the certificate in the files into use. */
  readonly install: () => Promise<void>
}

/** How often to look at the clock, which may be moved. */
const LOOK_EVERY_MS = MINUTE
/** The pause after a failure; it doubles with each in a row. */
const FIRST_PAUSE_MS = HOUR
const LONGEST_PAUSE_MS = DAY
/** The longest pause that the authority may ask for: a wrong date would end all renewals. */
const LONGEST_ASKED_PAUSE_MS = 7 * DAY
/** How often the authority is asked for the time of the renewal, unless it says so itself. */
const ASK_EVERY_MS = 6 * HOUR
/** The part of its life after which a certificate is renewed, with the jitter before it. */
const RENEW_AFTER_SHARE_OF_LIFE = 2 / 3
/** The part after which it is renewed although the authority names a later time. */
const LATEST_SHARE_OF_LIFE = 9 / 10
const JITTER_SHARE_OF_LIFE = 1 / 30

/**
 * Renews after two thirds of the life of a certificate, or when the authority says so. The old certificate stays
 * while that fails. Times and failures survive a restart: authorities count attempts.
 */
export function createRenewal(parts: RenewalParts): Renewal {
  const { clock, every, random, files, names, open, install } = parts
  const stop = new AbortController()
  let working: Promise<void> | undefined
  /** A certificate was kept that is not in use yet. */
  let isWaiting = false

  async function work(): Promise<void> {
    if (isWaiting) await takeIntoUse()
    const now = clock.now()
    if (now < files.state().waitUntil) return
    const present = files.certificate()
    const isUsable = present !== undefined && names.every((name) => present.checkHost(name))
    try {
      if (isUsable && now >= files.state().askAt) await ask(present)
      if (isUsable && now < files.state().renewAt) return
      await renew()
    } catch (error) {
      if (!stop.signal.aborted) fail(error)
    }
  }

  async function renew(): Promise<void> {
    files.requireRoom()
    const account = await open(files.accountKey(), stop.signal)
    const key = newKey()
    const chain = await account.certify(names, key)
    const renewAt = usualTime(readCertificate(chain, names, key), random)
    files.keep(chain, key)
    remember({ renewAt, askAt: clock.now(), waitUntil: 0, failure: null })
    serverLog.info('A certificate was issued', { names, renewal: new Date(renewAt).toISOString() })
    isWaiting = true
    await takeIntoUse()
  }

  /** A port that is taken for the moment is tried again at the next look. */
  async function takeIntoUse(): Promise<void> {
    try {
      await install()
      isWaiting = false
    } catch (error) {
      serverLog.error('The new certificate cannot be used yet, which will be tried again', {
        error,
      })
    }
  }

  /** A time that the authority does not tell is the usual one. */
  async function ask(present: X509Certificate): Promise<void> {
    const state = files.state()
    const now = clock.now()
    const usual = state.renewAt || usualTime(present, random)
    try {
      const account = await open(files.accountKey(), stop.signal)
      const told = await account.renewalOf(present)
      const wanted =
        told === undefined ? usual : within(told.start, told.end, state.renewAt, random)
      const renewAt = Math.min(wanted, timeAt(present, LATEST_SHARE_OF_LIFE))
      const askAt = now + Math.max(told?.askAfter ?? ASK_EVERY_MS, LOOK_EVERY_MS)
      remember({ ...state, renewAt, askAt })
    } catch (error) {
      if (stop.signal.aborted) throw error
      serverLog.warning('The authority did not tell when to renew the certificate', { error })
      remember({ ...state, renewAt: usual, askAt: now + ASK_EVERY_MS })
    }
  }

  function fail(error: unknown): void {
    const now = clock.now()
    const attempts = (files.state().failure?.attempts ?? 0) + 1
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempts - 1))
    const told = error instanceof AcmeError ? (error.retryAfter ?? 0) : 0
    const asked = Math.min(LONGEST_ASKED_PAUSE_MS, told)
    const waitUntil = now + Math.max(pause, asked)
    const reason = error instanceof AcmeError ? error.message : 'See the log of the server'
    remember({ ...files.state(), waitUntil, failure: { at: now, attempts, reason } })
    serverLog.error('No certificate was issued, which will be tried again', {
      names,
      attempts,
      next: new Date(waitUntil).toISOString(),
      error,
    })
  }

  /** The pause holds although the disk is full: the authority counts attempts. */
  function remember(state: RenewalState): void {
    try {
      files.keepState(state)
    } catch (error) {
      serverLog.error('The time of the next certificate cannot be stored', { error })
    }
  }

  function look(): Promise<void> {
    return (working ??= work().finally(() => (working = undefined)))
  }

  const timer = every(LOOK_EVERY_MS, () => void look())
  return {
    look,
    status() {
      const expiresAt = files.certificate()?.validToDate.getTime() ?? null
      return { names, expiresAt, failure: files.state().failure }
    },
    async [Symbol.asyncDispose]() {
      timer[Symbol.dispose]()
      stop.abort()
      await working
    },
  }
}

/** The first certificate of a chain. Throws `AcmeError` when it is not for these names and this key. */
function readCertificate(chain: string, names: readonly string[], key: KeyObject): X509Certificate {
  const certificate = parseCertificate(chain)
  const isUsable =
    certificate !== undefined &&
    certificate.checkPrivateKey(key) &&
    names.every((name) => certificate.checkHost(name))
  if (!isUsable) throw new AcmeError('The authority sent a certificate that cannot be used')
  return certificate
}

/** Somewhat before two thirds of the life: the certificates of many servers are not renewed at the same moment. */
function usualTime(certificate: X509Certificate, random: () => number): number {
  return timeAt(certificate, RENEW_AFTER_SHARE_OF_LIFE - JITTER_SHARE_OF_LIFE * random())
}

/** When this part of the life of a certificate is over. */
function timeAt(certificate: X509Certificate, share: number): number {
  const start = certificate.validFromDate.getTime()
  return Math.floor(start + (certificate.validToDate.getTime() - start) * share)
}

/** A time that was chosen before stays while it is between the two. */
function within(start: number, end: number, chosen: number, random: () => number): number {
  if (chosen >= start && chosen <= end) return chosen
  return Math.floor(start + (end - start) * random())
}
