import { join } from 'node:path'
import { createAuthority } from '../auth/authority'
import { createInvitations } from '../auth/invitation/invitations'
import { addNotice } from '../auth/otp/otp-notice'
import { createProviders } from '../auth/provider/providers'
import { openSecretKey } from '../auth/key/secret-key'
import { createVault } from '../auth/key/vault'
import { createWebhook } from '../auth/person/webhook'
import { createDiskBlobs } from '../blobs/disk/disk'
import { createDiskScratch } from '../blobs/disk/scratch'
import { createBlobKeeper } from '../domain/blob/keeper'
import type { Clock } from '../clock'
import { type Config } from '../config/config'
import { isLoopback } from '../net/networks'
import type { BlobStore } from '../domain/store/blob-store'
import type { Letter } from '../domain/store/mailer'
import { findPublicAddress } from '../domain/database/public-address'
import type { Scratch } from '../domain/store/scratch'
import type { Database, ReadTx } from '../domain/store/store'
import type { Services } from './host'
import { mailLog, serverLog } from '../log/log'
import { createMailer } from '../mail/mailer'
import { DeliveryError, type Message } from '../mail/message'
import { createOutbound } from '../net/outbound'

/** What a server does with mails while nobody has said how to send them (design.md §2 Development). */
export interface MailPrinter {
  isPrinting(): boolean
  print(message: Message): void
}

/** Where the outside world reaches the databases of a server (design.md §2). */
export interface ServerAddress {
  /** Null while the server does not know. Without a slash at its end. */
  of(database: string): string | null
  /** Told by a server that listens. */
  reachedAt(url: string): void
}

/** What `--public-url` says, else the address of this machine while nobody else can call. */
export function createServerAddress({ publicUrl, host }: Config): ServerAddress {
  let base = publicUrl
  return {
    of: (database) => (base === null ? null : `${base}/${database}`),
    reachedAt(url) {
      if (isLoopback(host)) base ??= url
    },
  }
}

/**
 * Opens what belongs to one database beside its data. Without a `printer` it is for a command: then
 * nothing that waits is sent.
 */
export function createServices(
  config: Config,
  clock: Clock,
  printer?: MailPrinter,
  address = createServerAddress(config),
): (database: Database) => Promise<Services> {
  const { maxExpiresIn, maxNotBefore, maxClockSkew } = config
  const call = createOutbound({ allowed: config.allowPrivateAddresses })
  const server = {
    address: config.smtpUrl ?? config.mailHook,
    sender: config.mailFrom,
    call,
    isPrinting: () => printer?.isPrinting() ?? false,
    print: (message: Message) => printer?.print(message),
  }

  return async (database) => {
    await using undo = new AsyncDisposableStack()
    const secretKey = await openSecretKey(database, config.secretKey)
    const vault = createVault(secretKey)
    const mailer = undo.use(
      createMailer({
        database,
        clock,
        vault,
        server,
        complete: addNotice,
        isSending: printer !== undefined,
        report: (...failure) => reportMail(database, ...failure),
      }),
    )
    const limits = { maxExpiresIn, maxNotBefore, maxClockSkew }
    const webhook = createWebhook({ database, clock, vault, call })
    const authority = await createAuthority(database, clock, secretKey, {
      ...limits,
      mailer,
      askWebhook: (person) => webhook.ask(person),
      reportClock: (...behind) => reportClock(database, ...behind),
    })
    const blobs = undo.use(await openBlobs(database, config))
    const blobKeeper = undo.use(
      createBlobKeeper({ database, bytes: blobs, clock, report: reportBlobs(database) }),
    )
    const { admit, steady } = authority
    const parts = { database, clock, steady, secretKey, vault, outbound: call }
    const addressOf = async (tx: ReadTx) =>
      (await findPublicAddress(tx)) ?? address.of(database.name)
    undo.move()
    return {
      authority,
      mailer,
      blobs,
      scratch: createScratch(database, clock),
      blobKeeper,
      providers: createProviders(parts),
      webhook,
      invitations: createInvitations({ database, clock, steady, mailer, admit, addressOf }),
      address: () => database.read(addressOf),
    }
  }
}

/** Where imports and exports of a database have their temporary files. */
export function createScratch({ folder }: Database, clock: Clock): Scratch {
  return createDiskScratch(join(folder, 'imports'), clock)
}

/** What could not be cleared away is in nobody's way. */
async function openBlobs(database: Database, { memory }: Config): Promise<BlobStore> {
  const report = reportBlobs(database)
  const blobs = createDiskBlobs(join(database.folder, 'blobs'), { isDurable: !memory, report })
  await blobs.sweep((hash) => database.read((tx) => tx.blobs.isStored(hash))).catch(report)
  return blobs
}

function reportBlobs({ name }: Database): (error: unknown) => void {
  return (error) => serverLog.error('The storage of blobs has a problem', { database: name, error })
}

function reportClock({ name }: Database, behind: number, isBelieved: boolean): void {
  const about = { database: name, minutes: Math.ceil(behind / 60_000) }
  if (isBelieved) {
    serverLog.warning(
      'The clock is far behind the time at which this database was used: login codes of that time are gone, and its tokens are not taken. If the clock is wrong, set it right and restart',
      about,
    )
  } else {
    serverLog.warning(
      'The clock is behind the time at which this database was used: tokens and codes go on from that time. If the clock is wrong, set it right and restart; else nothing needs to be done',
      about,
    )
  }
}

function reportMail(
  { name }: Database,
  letter: Letter | undefined,
  error: unknown,
  isFinal: boolean,
): void {
  // What another server said is enough; where in our code it was heard tells nobody anything.
  const why = error instanceof DeliveryError ? { reason: error.message } : { error }
  const about = { database: name, to: letter?.to, kind: letter?.kind, ...why }
  if (isFinal) mailLog.error('A mail was given up', about)
  else mailLog.warning('A mail did not go and is tried again', about)
}
