import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { openSession, type Session } from '../../src/control/session'
import { asClient } from '../auth/setup'
import { type Served, type Surroundings, serve } from '../binary/setup'
import { type Caller, callerOf, TABLES } from '../http/setup'
import { temporaryFolder } from '../setup'

export interface Client {
  readonly clientId: string
  readonly clientSecret: string
}

/** The executable at work on a data folder, with its first client. */
export interface Executable extends AsyncDisposable {
  readonly served: Served
  readonly folder: string
  readonly url: string
  /** The base address of the database `main`. */
  readonly main: string
  readonly client: Client
  readonly commands: Session
  readonly anyone: Caller
  /** An access token of the first client, or of the user with the id `sub`. */
  token(options?: { readonly sub?: string; readonly scopes?: readonly string[] }): Promise<string>
  as(sub: string): Promise<Caller>
  root(): Promise<Caller>
  /** Its current and its peak memory, MiB. */
  memory(): { readonly now: number; readonly peak: number }
}

export interface StartOptions extends Partial<Omit<Surroundings, 'cwd'>> {
  readonly args?: readonly string[]
  /** Of an earlier start in the same folder. */
  readonly client?: Client
}

/** Starts it on the data folder `folder`, with `TABLES` when the folder is new. */
export async function startExecutable(
  folder: string,
  { args = [], client: known, ...surroundings }: StartOptions = {},
): Promise<Executable> {
  const served = await serve({ cwd: folder, ...surroundings }, ['--data', folder, ...args])
  const { url } = served.ready
  const client = served.ready.client ?? known
  if (client === undefined) throw new Error('The secret of the first client is not known')
  const main = `${url}/main`
  const commands = await openSession(folder, () => undefined)
  const token: Executable['token'] = async ({ sub, scopes } = {}) => {
    const answer = await callerOf(main).post('/token', {
      ...asClient(client),
      scopes:
        scopes ??
        (sub === undefined ? ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE'] : ['ACCESS_DB']),
      ...(sub === undefined ? {} : { claims: { sub, email: sub, name: sub } }),
    })
    if (answer.status !== 200) throw new Error(`No token: ${answer.status} ${answer.text}`)
    return (answer.body as { accessToken: string }).accessToken
  }
  if (served.ready.client !== undefined) {
    const upload = new Blob([JSON.stringify(TABLES)]).stream()
    await commands.run('schema.push', { database: 'main', wait: true }, { upload })
  }
  return {
    served,
    folder,
    url,
    main,
    client,
    commands,
    anyone: callerOf(main),
    token,
    as: async (sub) => callerOf(main, await token({ sub })),
    root: async () => callerOf(main, await token()),
    memory: () => memoryOf(served.pid),
    [Symbol.asyncDispose]: () => served[Symbol.asyncDispose](),
  }
}

/** The same on a folder that is gone when the test ends. */
export async function setupExecutable(options: StartOptions = {}): Promise<Executable> {
  await using undo = new AsyncDisposableStack()
  const folder = undo.use(temporaryFolder()).path
  const executable = undo.use(await startExecutable(folder, options))
  const parts = undo.move()
  return { ...executable, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

/** Sends a request over a connection of its own and takes nothing of the answer. */
export function sendUnread(url: string, request: string, body: readonly Buffer[] = []): Socket {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  socket.pause()
  socket.write(request)
  for (const part of body) socket.write(part)
  return socket
}

function memoryOf(pid: number) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mebibytes = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? Number.NaN) / 1024
  return { now: mebibytes('VmRSS'), peak: mebibytes('VmHWM') }
}
