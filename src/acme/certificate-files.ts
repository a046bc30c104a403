import {
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  type X509Certificate,
} from 'node:crypto'
import {
  closeSync,
  existsSync,
  fsyncSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createOwnFile, makeFolder, syncPathNow } from '../disk'
import { type CertificateFailure, parseCertificate } from '../net/certificate'

/** The plan for the next certificate. Times in ms since the epoch. */
export interface RenewalState {
  /** When the present certificate is to be renewed; 0: at once. */
  readonly renewAt: number
  /** When to ask the authority whether that time has changed. */
  readonly askAt: number
  /** Nothing is tried before. */
  readonly waitUntil: number
  readonly failure: CertificateFailure | null
}

/** The files of the certificate, in a folder that only the owner of the data may read. */
export interface CertificateFiles {
  /** The file with the chain and its private key (PEM): one file, so that they always belong together. */
  readonly pair: string
  /** The present certificate; undefined before the first, and for a file that cannot be read as one. */
  certificate(): X509Certificate | undefined
  keep(chain: string, key: KeyObject): void
  /** Throws when the disk has no room for a chain: the authority counts orders whose certificate is lost, too. */
  requireRoom(): void
  /** The key of the account at the authority, made at its first use. */
  accountKey(): KeyObject
  /** The state that was kept last; a lost or damaged file is an empty one. */
  state(): RenewalState
  /** Remembers the state until the process ends, also when it throws because the disk takes no file. */
  keepState(state: RenewalState): void
}

/** More than a chain with its key has, in bytes. */
const ROOM_BYTES = 64 * 1024

const NO_STATE: RenewalState = { renewAt: 0, askAt: 0, waitUntil: 0, failure: null }

/** Opens the files below the data folder. Backups copy databases only, so they are in no backup. */
export function openCertificateFiles(data: string): CertificateFiles {
  const folder = join(data, 'acme')
  makeFolder(folder)
  const [pair, account, state] = ['certificate.pem', 'account.pem', 'state.json'].map((name) =>
    join(folder, name),
  ) as [string, string, string]
  let kept: RenewalState | undefined
  return {
    pair,
    certificate: () =>
      existsSync(pair) ? parseCertificate(readFileSync(pair, 'utf8')) : undefined,
    keep: (chain, key) => replaceFile(folder, pair, `${chain.trimEnd()}\n${pemOf(key)}`),
    accountKey() {
      if (!existsSync(account)) replaceFile(folder, account, pemOf(newKey()))
      return createPrivateKey(readFileSync(account))
    },
    requireRoom: () => rmSync(writeDraft(pair, ' '.repeat(ROOM_BYTES))),
    state: () => (kept ??= readState(state)),
    keepState(next) {
      kept = next
      replaceFile(folder, state, `${JSON.stringify(next)}\n`)
    },
  }
}

function readState(path: string): RenewalState {
  try {
    return { ...NO_STATE, ...(JSON.parse(readFileSync(path, 'utf8')) as RenewalState) }
  } catch {
    return NO_STATE
  }
}

/** A new EC key on P-256. */
export function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string
}

/** Readers see the old content or the new one, also after power loss. */
function replaceFile(folder: string, path: string, content: string): void {
  renameSync(writeDraft(path, content), path)
  syncPathNow(folder)
}

/** Writes a whole file beside the path, or none, and returns its path. */
function writeDraft(path: string, content: string): string {
  const draft = `${path}.new`
  rmSync(draft, { force: true })
  const file = createOwnFile(draft)
  try {
    writeFileSync(file, content)
    fsyncSync(file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
  return draft
}
