import type { Clock } from '../clock'
import type { Config } from '../config/config'
import type { BlobLimits } from '../domain/blob/limits'
import type { OffloadRule } from '../domain/blob/offload-rule'
import type { WriteLimits } from '../domain/object/limits'
import { PART_BYTES, type PartLimits } from '../domain/transfer/entry'
import type { ServerAudit } from '../domain/store/audit'
import type { Engine } from '../domain/store/engine'
import type { Compacted } from '../domain/store/store'
import { createMailbox, type Mailbox } from './mailbox'
import type { Message } from '../mail/message'
import type { ServerMail } from '../mail/mailer'
import { isLoopback } from '../net/networks'
import { createOutbound } from '../net/outbound'
import type { ProgramPart } from './program-part'
import { type Backups, createBackups } from './backups'
import { compactDatabase } from './compaction'
import { createDeletions, type Deletions } from './deletions'
import { requireRestored, takeFolder } from './folder'
import { openFolderEngine } from './folder-engine'
import { thisProcess } from './holder'
import { type OpenDatabase, type HostContext, openHost, type TestDoubles } from './host'
import { createHosts, type Hosts } from './hosts'
import type { Serving } from './serving'
import type { Testing } from './test-mode'

/** A data folder that this process has locked: until it is disposed no other process opens it (design.md §2). */
export interface DataFolder
  extends AsyncDisposable, Pick<Engine, 'oldCopies' | 'figures' | 'serverFile'> {
  readonly path: string
  readonly clock: Clock
  /** The databases, for commands. */
  readonly hosts: Hosts
  /** The databases, for another part of the program that writes. */
  hostsAt(part: ProgramPart): Hosts
  /** Present in test mode. */
  readonly testing: Testing | undefined
  readonly deletions: Deletions
  readonly backups: Backups
  /**
   * Makes the database of a backup a new one. Throws `CONFLICT` when the name is taken, and what `restoreInto` throws;
   * then nothing is left of it. With how many users were deleted again.
   */
  restore(
    name: string,
    frames: AsyncIterable<Uint8Array>,
    revokesLogins: boolean,
  ): Promise<{ readonly opened: OpenDatabase; readonly erasedUsers: number }>
  /** Writes a database anew, as `compactDatabase` says. */
  compact(name: string, progress?: (done: number, total: number) => void): Promise<Compacted>
  /** The lines about operations that belong to no database. */
  readonly audit: ServerAudit
  /** The mail settings of the server. */
  readonly mail: ServerMail
  /** How much one request may write. */
  readonly writeLimits: WriteLimits
  /** True in test mode, and in development: the contents of mails may be seen. */
  keepsMails(): boolean
  /** The limits of each part of an imported file. */
  readonly importLimits: PartLimits
  /** Which values of objects become blobs, for databases without a rule of their own. */
  readonly offloadRule: OffloadRule
  /** The blob limits of databases without limits of their own. */
  readonly blobLimits: BlobLimits
  /** Where this process serves the database, or null while no server runs. */
  url(database: string): string | null
  /** The public address of a database without one of its own, or null while it is unknown. */
  addressOf(database: string): string | null
  /** The server of this process; null for a command, and before the server listens. */
  serving(): Serving | null
  /** Called by a server once it listens. */
  servedBy(server: Serving): void
  /** Called when the server has started and answers commands with this token at the socket with this path. */
  answersAt(address: string, token: string): void
}

/** The treatment of mails while no mail server is configured (design.md §2 Development). */
export interface MailPrinter {
  /** Mails are printed without a setting. */
  isDevelopment(): boolean
  print(message: Message): void
}

/**
 * Locks the data folder of `config`, which is created if it does not exist, or returns undefined when
 * another process holds it. A server gives a `printer`, a command none: without one, queued mails are
 * not sent. `testing` is present in test mode; `openEngine` opens what keeps the databases. Throws `READ_ONLY` or `STORAGE_FULL` when the folder cannot be used.
 */
export async function takeDataFolder(
  config: Config,
  clock: Clock,
  printer?: MailPrinter,
  testing?: Testing,
  openEngine = openFolderEngine,
): Promise<DataFolder | undefined> {
  await using stack = new AsyncDisposableStack()
  const folder = takeFolder(config)
  if (folder === undefined) return undefined
  stack.use(folder)
  requireRestored(folder.path)
  folder.announce(thisProcess())
  const { path } = folder
  const clockOf = (database: string) => testing?.clockOf(database) ?? clock
  const durability = config.memory ? 'none' : config.durability
  const { secretKey } = config
  const engine = stack.use(
    openEngine(path, {
      durability,
      secretKey,
      clock,
      clockOf,
    }),
  )
  let serving: Serving | null = null
  let isStarting = printer !== undefined
  const base = () => config.publicUrl ?? (isLoopback(config.host) ? (serving?.url ?? null) : null)
  const mailboxes = new Map<string, Mailbox>()
  const context = {
    ...createContext(config, clock, printer, base, testing),
    engine,
    mailboxOf: (name: string) => testing?.mailbox(name) ?? mailboxOf(mailboxes, name),
    keepsMails: () => testing !== undefined || (printer?.isDevelopment() ?? false),
    isStarting: () => isStarting,
  }
  const { store } = engine
  const all = stack.use(createHosts({ store, open: (through) => openHost(through, context) }))
  testing?.opened(all.at('test'), engine.tests)
  all.at('upkeep').watch({
    opened: () => undefined,
    disconnected: () => undefined,
    removed: (name) => void mailboxes.delete(name),
  })
  const deletions = stack.use(createDeletions(all.at('upkeep'), clock, engine.serverAudit))
  const backups = createBackups(config.memory)
  const owned = stack.move()
  return {
    path,
    clock,
    hosts: all.at('command'),
    hostsAt: (part) => all.at(part),
    testing,
    deletions,
    backups,
    async restore(name, frames, revokesLogins) {
      let erasedUsers = 0
      const opened = await all.at('command').make(name, async () => {
        erasedUsers = await engine.restore(name, frames, revokesLogins)
      })
      return { opened, erasedUsers }
    },
    compact: (name, progress) =>
      compactDatabase({ hosts: all.at('upkeep'), store, backups }, name, progress),
    oldCopies: () => engine.oldCopies(),
    audit: engine.serverAudit,
    figures: () => engine.figures(),
    serverFile: () => engine.serverFile(),
    mail: context.mail,
    keepsMails: () => context.keepsMails(),
    addressOf: (database) => context.addressOf(database),
    writeLimits: config,
    importLimits: importLimits(config),
    offloadRule: config.offloadBeyond,
    blobLimits: blobLimits(config),
    url: (database) => addressBelow(serving?.url ?? null, database),
    serving: () => serving,
    servedBy(server) {
      serving = server
    },
    answersAt(address, token) {
      isStarting = false
      folder.announce({ ...thisProcess(), address, token })
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The options for opening the databases. */
function createContext(
  config: Config,
  clock: Clock,
  printer: MailPrinter | undefined,
  base: () => string | null,
  doubles: TestDoubles | undefined,
): Omit<HostContext, 'engine' | 'isStarting' | 'mailboxOf' | 'keepsMails'> {
  const { maxExpiresIn, maxNotBefore, maxClockSkew } = config
  const { allowPrivateAddresses, test, printMails } = config
  // A developer's login provider is on the same machine.
  const isLoopbackAllowed = () =>
    test || (allowPrivateAddresses === null && (printer?.isDevelopment() ?? false))
  const call = createOutbound({ allowed: allowPrivateAddresses, isLoopbackAllowed })
  return {
    clock,
    doubles,
    tokenLimits: { maxExpiresIn, maxNotBefore, maxClockSkew },
    call,
    mail: {
      address: config.smtpUrl ?? config.mailHook,
      sender: config.mailFrom,
      hookSecret: config.mailHookSecret,
      call,
      isPrinting: () => printer !== undefined && (printMails || printer.isDevelopment()),
      print: (message) => printer?.print(message),
    },
    isSending: printer !== undefined,
    addressOf: (database) => addressBelow(base(), database),
  }
}

function mailboxOf(mailboxes: Map<string, Mailbox>, name: string): Mailbox {
  const mailbox = mailboxes.get(name) ?? createMailbox(MOST_MAILS)
  mailboxes.set(name, mailbox)
  return mailbox
}

/** So many mails are kept for each database. */
const MOST_MAILS = 100

function addressBelow(base: string | null, database: string): string | null {
  return base === null ? null : `${base}/${database}`
}

/** The limits of requests for each object, but for its bytes: a part of a file may be larger than a request. */
function importLimits(config: Config): PartLimits {
  const { maxBody, maxDepth: depth, maxValues: values, maxEntries } = config
  return { depth, values, maxEntries, bytes: Math.max(PART_BYTES, 4 * maxBody) }
}

function blobLimits({ maxBlob: blob, blobQuota, userBlobQuota }: Config): BlobLimits {
  return { blob, database: blobQuota, user: userBlobQuota }
}
