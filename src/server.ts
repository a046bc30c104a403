import { version } from '../package.json'
import type { Clock } from './clock'
import type { Config } from './config/config'
import { createDefaultClient } from './control/databases'
import { nameHolder, readHolder, thisProcess, writeHolder } from './host/holder'
import { listenForCommands } from './control/listener'
import { type DataFolder, takeDataFolder } from './host/data-folder'
import type { ClientCredentials } from './domain/database/client'
import { SatchelError } from './domain/value/error'
import { newSecret } from './domain/value/secret'
import { createApp } from './http/app'
import { createBodies } from './http/body/body'
import { createLimiter } from './http/rate-limits'
import { type Application, listen } from './listen'
import { httpLog, type Logs, serverLog } from './log/log'
import type { Message } from './mail/message'
import { RATE_LIMITS } from './limits/rate-limits'
import { createServerAddress } from './host/services'

/** A server that answers. Disposing it stops it. */
export interface Server extends AsyncDisposable {
  /** `http://127.0.0.1:7080` */
  readonly url: string
  /** The data folder; with `memory` one that is removed when the server stops. */
  readonly folder: string
  /** The databases there were when it started. */
  readonly databases: readonly { readonly name: string; readonly url: string }[]
  /** Of the start that created the first database, never again. */
  readonly client?: ClientCredentials
  /**
   * Accepts nothing new, answers what is in flight (10 s at most), writes everything back and lets
   * go of the data folder (promises.md 45).
   */
  stop(): Promise<void>
}

export interface Surroundings {
  readonly clock: Clock
  readonly logs: Logs
}

const GRACE_MS = 10_000
const FIRST_DATABASE = 'main'

/**
 * Serves a data folder. Throws `DATA_FOLDER_IN_USE`, `NEWER_DATA`, `READ_ONLY`, what `listen`
 * throws, and lets go of everything when it does.
 */
export async function startServer(config: Config, { clock, logs }: Surroundings): Promise<Server> {
  await using undo = new AsyncDisposableStack()
  const mode = createMode(config)
  const printer = {
    isPrinting: () => mode.isDevelopment(),
    print: (mail: Message) => print(logs, mail),
  }
  const address = createServerAddress(config)
  const take = () => takeDataFolder(config, clock, printer, address)
  const folder = undo.use(await requireDataFolder(config.data, take))
  const application = createApplication(folder, config, mode, { clock, logs })
  // First, so that a port in use does not cost the secret of the first client.
  const listener = await listen(config, application)
  undo.defer(() => listener.stop(true))
  const url = (name: string) => `${listener.url}/${name}`
  application.reachedAt(listener.url)
  address.reachedAt(listener.url)
  const client = await openFirstDatabase(folder)
  const token = newSecret()
  const commands = listenForCommands({ ...folder, url }, token)
  undo.defer(() => commands.stop(true))
  writeHolder(folder.path, { ...thisProcess(), address: commands.address, token })
  const parts = undo.move()
  void resumeJobs(folder)

  let stopping: Promise<void> | undefined
  const stop = () => (stopping ??= windDown())
  async function windDown(): Promise<void> {
    application.close()
    const isIdle = await isDoneWithin(GRACE_MS, Promise.all([listener.stop(), commands.stop()]))
    if (!isIdle) serverLog.warning('Requests that took more than 10 s were cut off')
    await parts.disposeAsync()
    await logs.flush()
  }
  return {
    url: listener.url,
    folder: folder.path,
    databases: folder.list().map((name) => ({ name, url: url(name) })),
    ...(client === undefined ? {} : { client }),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

const TRIES = 5
const PAUSE_MS = 100

/** A command at work lets go soon; a server does not (promises.md 10). */
async function requireDataFolder(
  path: string,
  take: () => DataFolder | undefined,
): Promise<DataFolder> {
  for (let tries = 1; ; tries++) {
    const folder = take()
    if (folder !== undefined) return folder
    const holder = readHolder(path)
    if (tries === TRIES || (holder !== undefined && holder.address !== null)) {
      throw new SatchelError(
        'DATA_FOLDER_IN_USE',
        `The data folder ${path} is in use by ${nameHolder(holder)}: stop it, or choose another folder with --data`,
      )
    }
    await Bun.sleep(PAUSE_MS)
  }
}

/** The HTTP application, with the address that is known only after it listens. */
interface HttpApplication extends Application {
  reachedAt(url: string): void
  /** From now on it is not ready for more. */
  close(): void
}

const FORWARDED = ['x-forwarded-for', 'forwarded', 'x-forwarded-host', 'x-forwarded-proto']

/** What may be done for someone who develops on this machine, and must not be done for the world. */
interface Mode {
  isDevelopment(): boolean
  /** A proxy nobody told us about ends it: whoever calls may be anywhere (design.md §2). */
  look(request: Request): void
}

function createMode(config: Config): Mode {
  let isDevelopment = config.development
  return {
    isDevelopment: () => isDevelopment,
    look({ headers }) {
      if (!isDevelopment || !FORWARDED.some((name) => headers.has(name))) return
      isDevelopment = false
      serverLog.warning(
        'A proxy forwards requests: pages of this machine must be listed now, mails are not printed, and callers are limited unless --rate-limits is off',
      )
    },
  }
}

function print(logs: Logs, { letter, subject, text }: Message): void {
  const { kind, to, variables } = letter
  logs.mail({ kind, to, subject, text, variables })
}

/** Of the sender of a blob on average, bytes per second. */
const LEAST_RATE = 1024

function createApplication(
  hosts: DataFolder,
  config: Config,
  mode: Mode,
  { clock, logs }: Surroundings,
): HttpApplication {
  const { maxBody: bytes, maxDepth: depth, maxValues: values } = config
  const own = new Set(config.publicUrl === null ? [] : [new URL(config.publicUrl).origin])
  let isReady = true
  const isLimited = () => config.rateLimits !== null || !mode.isDevelopment()
  const app = createApp(
    {
      hosts,
      clock,
      bodies: createBodies({ bytes, depth, values }),
      limits: createLimiter(config.rateLimits ?? RATE_LIMITS, clock, isLimited),
      blobs: {
        limits: hosts.blobLimits,
        offload: config.offloadBeyond,
        patience: { silence: config.maxSilence * 1000, rate: LEAST_RATE },
      },
      origins: { own, isDevelopment: () => mode.isDevelopment() },
      proxies: config.trustProxy,
      version,
      isReady: () => isReady,
      access: (entry) => logs.access(entry),
      failure: (requestId, error) => httpLog.error('A request failed', { requestId, error }),
    },
    config.domain,
  )
  return {
    fetch(request, server) {
      mode.look(request)
      return app.fetch(request, server)
    },
    reachedAt: (url) => own.add(url),
    close() {
      isReady = false
    },
  }
}

/** Shows that the data can be read, and makes the first database where there is none. */
async function openFirstDatabase(folder: DataFolder): Promise<ClientCredentials | undefined> {
  const names = folder.list()
  const [first] = names.includes(FIRST_DATABASE) ? [FIRST_DATABASE] : names
  if (first !== undefined) {
    await folder.open(first)
    return undefined
  }
  const { database } = await folder.create(FIRST_DATABASE)
  return await createDefaultClient(database, folder.clock)
}

/** Goes on with what an earlier process did not finish, one database after the other. */
async function resumeJobs(folder: DataFolder): Promise<void> {
  for (const name of folder.list()) {
    try {
      await folder.resume(name)
    } catch (error) {
      serverLog.error('A database cannot be opened', { database: name, error })
    }
  }
}

async function isDoneWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => late.resolve(false), milliseconds)
  try {
    return await Promise.race([work.then(() => true), late.promise])
  } finally {
    clearTimeout(timer)
  }
}
