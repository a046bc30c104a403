import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isBucket } from '../backups/bucket'
import { openTarget } from '../backups/open'
import { verifyBackup } from '../backups/verify'
import type { Config } from '../config/config'
import { hasErrno } from '../disk'
import { SatchelError } from '../domain/value/error'
import { damageIn } from '../host/backup-target'
import { viewFolder } from '../host/folder-view'
import { parseMailAddress } from '../mail/address'
import { DeliveryError } from '../mail/message'
import { checkSmtp } from '../mail/smtp'
import type { CertificateStatus } from '../net/certificate'
import { systemSentence } from '../net/system-error'
import { lookAtCertificate } from './certificate'
import type { BackupFacts, DatabaseFacts, Facts, NewestBackup, ServerFacts } from './facts'
import { lookAtDatabase, lookAtFolder } from './folder'
import { lookAtPort } from './port'

/** What a server knows of itself. */
export interface OwnFacts extends ServerFacts {
  readonly certificate: CertificateStatus | null
  /** The databases that are open, and those that could not be opened. */
  readonly databases: readonly DatabaseFacts[]
  /** Why the latest scheduled backup failed. */
  readonly backupFailure: string | null
}

export interface LookOptions {
  readonly now: number
  /** Also asks the mail server, and reads a backup in a bucket. */
  readonly isOnline: boolean
  /** Called with the bytes of the newest backup that were read. */
  readonly progress?: ((bytes: number) => void) | undefined
}

/** Looks at everything that the checks are about; `own` is present in the server. Throws what the file system says. */
export async function look(
  config: Config,
  own: OwnFacts | null,
  { now, isOnline, progress }: LookOptions,
): Promise<Facts> {
  const { data, memory, host, port, publicUrl, smtpUrl, mailHook, printMails, trustProxy } = config
  const { databases, lastBackup } = await viewFolder(data)
  const known = new Map(own?.databases.map((database) => [database.name, database]))
  return {
    now,
    settings: {
      host,
      port,
      publicUrl,
      development: config.development,
      isProxyTrusted: trustProxy !== null,
      areLimitsOff: config.rateLimits !== null && isOff(config.rateLimits),
      hasTls: config.tlsCert !== null || config.acme !== null,
      sendsMails: smtpUrl !== null || mailHook !== null || printMails,
      memory,
    },
    folder: await lookAtFolder(data),
    databases: databases.map(({ name }) => known.get(name) ?? lookAtDatabase(data, name)),
    certificate: lookAtCertificate(config, own?.certificate ?? null),
    backups: await lookAtBackups(config, isOnline, progress, {
      last: lastBackup,
      failure: own?.backupFailure ?? null,
    }),
    server: own && { descriptors: own.descriptors, signs: own.signs },
    port: own === null ? lookAtPort(host, port) : null,
    mailFailure: isOnline && smtpUrl !== null ? await findMailFailure(smtpUrl) : null,
  }
}

function isOff(limits: object): boolean {
  return Object.values(limits).every((limit) => limit === null)
}

async function lookAtBackups(
  config: Config,
  isOnline: boolean,
  progress: ((bytes: number) => void) | undefined,
  known: Pick<BackupFacts, 'last' | 'failure'>,
): Promise<BackupFacts> {
  const { backup: target } = config
  if (target === null) return { ...known, target, refusal: null, newest: null }
  const isFolder = !isBucket(target)
  return {
    ...known,
    target,
    refusal: isFolder ? await refusalOf(target) : null,
    newest: isFolder || isOnline ? await verifyNewest(target, config, progress) : null,
  }
}

/** Why this process may not write to a folder, or make it. */
async function refusalOf(folder: string): Promise<BackupFacts['refusal']> {
  try {
    await access(folder, constants.W_OK)
    return null
  } catch (error) {
    if (hasErrno(error, 'ENOENT') && folder !== dirname(folder)) return refusalOf(dirname(folder))
    return hasErrno(error, 'EROFS') ? 'file system' : 'owner'
  }
}

/** Reads the newest backup again; null when there is none. */
async function verifyNewest(
  address: string,
  config: Config,
  progress?: (bytes: number) => void,
): Promise<NewestBackup | null> {
  try {
    const target = openTarget(address, config, { isBeside: true })
    const name = (await target.list()).at(-1)
    if (name === undefined) return null
    try {
      const { faults } = await verifyBackup(target, name, {
        damageIn,
        ...(progress === undefined ? {} : { progress }),
      })
      return {
        name,
        fault: faults.length === 0 ? null : `${faults[0]?.path} is ${faults[0]?.problem}`,
      }
    } catch (error) {
      return { name, fault: sentenceOf(error) }
    }
  } catch (error) {
    return { name: null, fault: sentenceOf(error) }
  }
}

function sentenceOf(error: unknown): string {
  if (error instanceof SatchelError) return error.message
  return systemSentence(error) ?? String(error)
}

async function findMailFailure(smtpUrl: string): Promise<string | null> {
  const address = parseMailAddress(smtpUrl)
  if (address.kind !== 'smtp') return null
  try {
    await checkSmtp(address)
    return null
  } catch (error) {
    return error instanceof DeliveryError ? error.message : sentenceOf(error)
  }
}
