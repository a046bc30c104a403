import type Dexie from 'dexie'
import { once } from 'node:events'
import { join } from 'node:path'
import { serve } from '../../binary/setup'
import { startSmtp } from '../../mail/smtp-server'
import { temporaryFolder } from '../../setup'
import type { AddonUser, Command, Device, Dialog, Options, Told } from './messages'

/** The application in one file, which loads in half the time; made once in a process for each add-on. */
const bundles = new Map<string, Promise<Blob>>()

function bundleOf(addon: string): Promise<Blob> {
  const bundle = bundles.get(addon) ?? bundleApplication(addon)
  bundles.set(addon, bundle)
  return bundle
}

/** `addon` is the name of the package under which `package.json` has a version of the add-on. */
async function bundleApplication(addon: string): Promise<Blob> {
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, 'application.ts')],
    target: 'bun',
    plugins: [
      {
        name: 'addon',
        setup(build) {
          build.onResolve({ filter: /^dexie-cloud-addon$/ }, () => ({
            path: Bun.resolveSync(addon, import.meta.dir),
          }))
        },
      },
    ],
  })
  return new Blob([await outputs[0]!.text()])
}

/** The executable, the mailbox it writes to, and the folder that commands are run in. */
export async function setupServed(environment: Readonly<Record<string, string>> = {}) {
  await using undo = new AsyncDisposableStack()
  const smtp = undo.use(await startSmtp())
  const folder = undo.use(temporaryFolder())
  const mail = {
    SATCHEL_SMTP_URL: `smtp://127.0.0.1:${smtp.port}`,
    SATCHEL_MAIL_FROM: 'app@example.com',
  }
  const surroundings = { cwd: folder.path, environment: { ...mail, ...environment } }
  const server = undo.use(await serve(surroundings))
  const parts = undo.move()
  return {
    surroundings,
    main: `${server.ready.url}/main`,
    kill: (signal: NodeJS.Signals) => server.kill(signal),
    exited: server.exited,
    /** The code of the next mail. */
    async code(): Promise<string> {
      const { text } = await smtp.next()
      return /^ {4}(\S+)$/m.exec(text)?.[1] ?? ''
    },
    /** Waits for the next mail. */
    mail: () => smtp.next(),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

export type Application = Awaited<ReturnType<typeof openApplication>>

/** An application with the published add-on, and its user. */
export async function openApplication(databaseUrl: string, options: Options = {}) {
  const { addon = 'dexie-cloud-addon' } = options
  const told = createInbox()
  const child = Bun.spawn(
    [process.execPath, 'run', '-', JSON.stringify({ databaseUrl, ...options })],
    {
      env: {},
      stdin: await bundleOf(addon),
      stdout: 'ignore',
      stderr: 'ignore',
      ipc: (message: Told) => told.put(message),
    },
  )
  let id = 0
  /** Begins what may take dialogs to end. */
  function begin<T>(command: Command) {
    const mine = (id += 1)
    child.send({ id: mine, command })
    const isEnd = (message: Told) =>
      (message.about === 'done' || message.about === 'failed') && message.id === mine
    return {
      async end(): Promise<T> {
        const end = await told.take(isEnd)
        if (end.about === 'failed') throw new Error(end.reason)
        return (end as { readonly result: T }).result
      },
    }
  }
  const perform = <T>(command: Command) => begin<T>(command).end()
  await told.take(({ about }) => about === 'ready')
  return {
    begin,
    perform,
    user: () => perform<AddonUser>({ do: 'user' }),
    /** Runs a function in the application; it may use what it is given, and nothing around it. */
    run: <T, G>(work: (db: Dexie, given: G, device: Device) => Promise<T> | T, given?: G) =>
      perform<T>({ do: 'run', code: String(work), given }),
    /** The next new dialog. */
    dialog: async () => (await told.take(({ about }) => about === 'dialog')) as Dialog,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

/** The add-on may wait for 22 s after several failures in a row, which are 15 minutes of its own. */
const PATIENCE_MS = 150_000

/** Messages that arrived and are not yet taken. */
function createInbox() {
  const waiting: Told[] = []
  const arrived = new EventTarget()
  return {
    put(message: Told) {
      waiting.push(message)
      arrived.dispatchEvent(new Event('message'))
    },
    async take(isWanted: (message: Told) => boolean): Promise<Told> {
      for (;;) {
        const at = waiting.findIndex(isWanted)
        if (at >= 0) return waiting.splice(at, 1)[0]!
        await once(arrived, 'message', { signal: AbortSignal.timeout(PATIENCE_MS) })
      }
    },
  }
}

/** An application whose user has logged in with a code. */
export async function openDevice(
  served: Awaited<ReturnType<typeof setupServed>>,
  email: string,
  options?: Options,
): Promise<Application> {
  const app = await openApplication(served.main, options)
  await logIn(app, served, email)
  return app
}

export async function logIn(
  app: Application,
  served: Awaited<ReturnType<typeof setupServed>>,
  email: string,
): Promise<void> {
  const login = app.begin({ do: 'login', hints: { email } })
  await app.dialog()
  await app.perform({ do: 'submit', fields: { otp: await served.code() } })
  await login.end()
}
