import type { TokenLimits } from '../auth/limits'
import { type Authority, createAuthority } from '../auth/authority'
import { createInvitations, type Invitations } from '../auth/invitation/invitations'
import { createVault } from '../auth/key/seal'
import { keyFile, keyProof } from '../auth/key/secret-key'
import { createWebhook, type Webhook } from '../auth/person/webhook'
import { createProviders, type Providers } from '../auth/provider/providers'
import type { Clock } from '../clock'
import type { KeyFacts } from '../domain/backup/frames'
import { isFileUsed } from '../domain/blob/collection'
import { type HoldableBlobs, openHoldable } from '../domain/blob/hold'
import { type BlobKeeper, createBlobKeeper } from '../domain/blob/keeper'
import { createHistoryKeeper } from '../domain/sync/keeper'
import type { Job } from '../domain/store/records'
import { createJobRunner, type JobRunner } from '../domain/job/job-runner'
import { MAINTENANCE } from '../domain/object/maintenance'
import type { Letter, Mailer } from '../domain/store/mailer'
import { findPublicAddress } from '../domain/database/public-address'
import type { Engine } from '../domain/store/engine'
import type { Scratch } from '../domain/store/scratch'
import type { Database, ReadTx } from '../domain/store/store'
import type { TransferContext } from '../domain/transfer/archive'
import { importSteps } from '../domain/transfer/import-job'
import { describeProgress, progressOfImport } from '../domain/transfer/import-progress'
import { REMOVAL_STEPS } from '../domain/user/removal'
import { mailLog, serverLog } from '../log/log'
import { createMailer, type ServerMail } from '../mail/mailer'
import { DeliveryError } from '../mail/message'
import type { Outbound } from '../net/outbound'
import { ZIP } from '../zip/format'
import { addNotice } from '../auth/otp/otp-request'
import { MINUTE } from '../domain/value/time'
import type { Through } from './program-part'
import { failedMail, keptMail, type Mailbox } from './mailbox'

/** A database that is open and everything that lives with it, for one part of the program. */
export interface OpenDatabase extends OpenParts {
  readonly database: Database
}

/** Everything that lives with an open database. Disposing it closes all of that. */
export interface OpenParts extends AsyncDisposable {
  readonly name: string
  readonly through: Through
  /** The time of the database: that of the machine unless a test changes it. */
  readonly clock: Clock
  /** How far `clock` is ahead of the machine's, ms: 0 unless a test has moved it. */
  readonly lead: () => number
  /** Issues and verifies the tokens of the database. */
  readonly authority: Authority
  readonly mailer: Mailer
  /** The last mails that it has sent. */
  readonly mailbox: Mailbox
  /** The bytes of the blobs. */
  readonly blobs: HoldableBlobs
  /** The secret key as a backup has it; no file for a key from the settings. */
  readonly key: { readonly facts: KeyFacts; readonly file: Uint8Array | null }
  /** Temporary files of imports and exports. */
  readonly scratch: Scratch
  /** Everything that imports and exports use. */
  readonly transfer: TransferContext
  /** Removes blobs that no object references. */
  readonly blobKeeper: BlobKeeper
  readonly providers: Providers
  /** Decides about new users if the policy says so. */
  readonly webhook: Webhook
  readonly invitations: Invitations
  readonly jobs: JobRunner
  /** The public address of the database, or null while it is unknown (design.md §2). */
  readonly address: () => Promise<string | null>
}

/** The parts that a process gives to each host that it opens. */
export interface HostContext {
  readonly clock: Clock
  /** Present in test mode. */
  readonly doubles?: TestDoubles | undefined
  readonly tokenLimits: TokenLimits
  /** Sends requests to configured addresses. */
  readonly call: Outbound
  /** How mails are sent unless the database has settings of its own. */
  readonly mail: ServerMail
  /** The mails of a database, also after it was closed. */
  mailboxOf(database: string): Mailbox
  /** True while the contents of mails may be kept. */
  keepsMails(): boolean
  /** False for a command, which leaves queued mails to the server. */
  readonly isSending: boolean
  /** True until a server has started: what it can make later waits. */
  isStarting(): boolean
  readonly engine: Engine
  /** The public address of the database unless it has a setting of its own; null while unknown. */
  addressOf(name: string): string | null
}

/** The parts that test mode puts in the place of real ones. */
export interface TestDoubles {
  readonly clockOf: (database: string) => Clock
  /** True when a snapshot needs this file of a blob. */
  isPinned(database: string, file: string): boolean
}

/**
 * Opens everything that lives with a database, which the host closes with the rest. When a part
 * cannot be opened, the parts that were opened before it and the database are closed, and the error
 * of that part is thrown.
 */
export async function openHost(through: Through, context: HostContext): Promise<OpenParts> {
  const { call, tokenLimits, doubles, engine } = context
  const [auth, upkeep] = [through('auth'), through('upkeep')]
  const { name } = upkeep
  const clock = doubles?.clockOf(name) ?? context.clock
  await using stack = new AsyncDisposableStack()
  stack.use(upkeep)
  const secretKey = await engine.secretKey(upkeep)
  const vault = createVault(secretKey)
  const report = (error: unknown) => reportBlobs(name, error)
  const isUsed = async (file: string) =>
    doubles?.isPinned(name, file) === true || (await isFileUsed(upkeep, file))
  const blobs = stack.use(
    await openHoldable((isNeeded) => engine.openBlobs(upkeep, isNeeded), isUsed, report),
  )
  const scratch = await engine.openScratch(upkeep)
  const mailbox = context.mailboxOf(name)
  const mailer = stack.use(
    createMailer({
      database: through('mail'),
      clock,
      vault,
      server: context.mail,
      left: (message, state) => mailbox.keep(keptMail(message, state, context.keepsMails())),
      failed: (id, letter, failure) => mailbox.keep(failedMail(id, letter, clock.now(), failure)),
      complete: addNotice,
      isSending: context.isSending,
      report: (...failure) => reportMail(name, ...failure),
    }),
  )
  const webhook = createWebhook({ database: auth, clock, vault, call })
  const authority = stack.use(
    await createAuthority(auth, clock, secretKey, {
      ...tokenLimits,
      signatureClock: context.clock,
      hasLazyKeys: context.isStarting(),
      mailer,
      askWebhook: (person) => webhook.ask(person),
      reportClock: (...behind) => reportClock(name, ...behind),
    }),
  )
  const { admit, clock: steady } = authority
  const addressOf = (tx: ReadTx) => findPublicAddress(tx) ?? context.addressOf(name)
  const blobKeeper = stack.use(createBlobKeeper({ database: upkeep, bytes: blobs, clock, report }))
  stack.use(
    createHistoryKeeper({
      database: upkeep,
      clock,
      report: (error) => reportHistory(name, error),
    }),
  )
  const transfer = { database: through('import'), contents: blobs, archives: ZIP, scratch }
  const steps = { ...MAINTENANCE, ...importSteps(transfer), ...REMOVAL_STEPS }
  await reportResumed(upkeep)
  const jobs = stack.use(
    createJobRunner(through('jobs'), steps, (...failure) => reportJob(name, ...failure)),
  )
  const owned = stack.move()
  return {
    name,
    through,
    clock,
    lead: () => (clock === context.clock ? 0 : Math.round(clock.now() - context.clock.now())),
    authority,
    mailer,
    mailbox,
    blobs,
    key: {
      facts: { place: engine.hasKeyFiles ? 'file' : 'external', proof: keyProof(secretKey) },
      file: engine.hasKeyFiles ? keyFile(secretKey) : null,
    },
    scratch,
    transfer,
    blobKeeper,
    providers: createProviders({ database: auth, clock: steady, secretKey, vault, outbound: call }),
    webhook,
    invitations: createInvitations({ database: auth, clock: steady, mailer, admit, addressOf }),
    jobs,
    address: () => upkeep.read(addressOf),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function reportBlobs(database: string, error: unknown): void {
  serverLog.error('The blob store failed', { database, error })
}

function reportHistory(database: string, error: unknown): void {
  serverLog.error('Old history could not be removed', { database, error })
}

/** Logs the jobs that an earlier process did not finish: the runner continues them. */
async function reportResumed(database: Database): Promise<void> {
  const jobs = await database.read((tx) => tx.jobs.list())
  for (const job of jobs) {
    const { id, kind, done, total, failure } = job
    if (failure !== null) continue
    const place = progressOfImport(job)
    const rest = { database: database.name, kind, job: id, done, total }
    if (place === null) serverLog.info('A job continues where it stopped', rest)
    else serverLog.info(`Continues ${describeProgress(place)}`, { ...rest, ...place })
  }
}

function reportJob(database: string, { kind, id }: Job, error: unknown): void {
  serverLog.error('A step of a job failed', { database, kind, job: id, error })
}

function reportClock(database: string, behind: number, isBelieved: boolean): void {
  const about = { database, minutes: Math.ceil(behind / MINUTE) }
  if (isBelieved) {
    serverLog.warning(
      'The clock is far behind the time when this database was last used: login codes from that time were deleted, and tokens from that time are rejected. If the clock is wrong, correct it and restart',
      about,
    )
  } else {
    serverLog.warning(
      'The clock is behind the time when this database was last used: tokens and codes continue from that time. If the clock is wrong, correct it and restart; otherwise nothing needs to be done',
      about,
    )
  }
}

function reportMail(
  database: string,
  letter: Letter | undefined,
  error: unknown,
  isFinal: boolean,
): void {
  // A delivery error quotes the other server; a stack of ours would add nothing.
  const why = error instanceof DeliveryError ? { reason: error.message } : { error }
  const about = { database, to: letter?.to, kind: letter?.kind, ...why }
  if (isFinal) mailLog.error('A mail was given up', about)
  else mailLog.warning('A mail could not be sent and will be tried again', about)
}
