import { once } from 'node:events'
import { join } from 'node:path'
import { serve } from '../../binary/setup'
import { startSmtp } from '../../mail/smtp-server'
import { temporaryFolder } from '../../setup'
import type { AddonUser, Command, Dialog, Told } from './messages'

const APPLICATION = join(import.meta.dir, 'application.ts')

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
    /** The code of the next mail. */
    async code(): Promise<string> {
      const { text } = await smtp.next()
      return /^ {4}(\S+)$/m.exec(text)?.[1] ?? ''
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

export type Application = Awaited<ReturnType<typeof openApplication>>

/**
 * An application with the published add-on, and its user. `clockAhead` in ms; objects of `exchanged`
 * tables go to the server and come from it.
 */
export async function openApplication(
  databaseUrl: string,
  clockAhead = 0,
  exchanged: readonly string[] = [],
) {
  const told = createInbox()
  const child = Bun.spawn(
    [process.execPath, APPLICATION, databaseUrl, String(clockAhead), ...exchanged],
    {
      env: {},
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
    /** The next new dialog. */
    dialog: async () => (await told.take(({ about }) => about === 'dialog')) as Dialog,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

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
        await once(arrived, 'message', { signal: AbortSignal.timeout(10_000) })
      }
    },
  }
}
