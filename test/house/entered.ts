import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KEY, REQUESTS, send, succeed, tokenRequest, type World } from './requests'

/** A request, the source files in which at least one function ran while it was served, and how many functions did. */
export interface Entered {
  readonly name: string
  readonly files: readonly string[]
  readonly functions: number
}

const WARM_UPS = 2
const ALICE = 'alice@example.com'

/**
 * Starts the server of a checkout on a new data folder and sends each request alone, after others
 * of its kind. Work that a request leaves for later (a mail) is part of it.
 */
export async function countEntered(root: string): Promise<Entered[]> {
  await using server = await startInstrumented(root)
  const world = await createWorld(server)
  const counted: Entered[] = []
  for (const { name, prepare } of REQUESTS) {
    let names: readonly string[] = []
    for (let turn = 0; turn <= WARM_UPS; turn += 1) {
      const request = await prepare(world, turn)
      await server.idle()
      server.clear()
      await succeed(request)
      names = await server.idle()
    }
    const files = new Set(names.map((each) => each.slice(0, each.indexOf('#'))))
    counted.push({ name, files: [...files].toSorted(), functions: names.length })
  }
  return counted
}

interface ReadyLine {
  readonly databases: readonly { readonly url: string }[]
  readonly client: World['client']
}

interface Instrumented extends AsyncDisposable {
  readonly ready: ReadyLine
  readonly lines: readonly string[]
  /** Begins anew. */
  clear(): void
  /** Resolves to the functions entered since then as soon as no more are added. */
  idle(): Promise<readonly string[]>
}

async function startInstrumented(root: string): Promise<Instrumented> {
  await using undo = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'satchel-house-'))
  undo.defer(() => rm(folder, { recursive: true, force: true }))
  const schema = join(folder, 'schema.json')
  await writeFile(schema, '{"schema":{"items":"@id, title"}}')
  const main = join(root, 'src', 'main.ts')
  const data = ['--data', join(folder, 'data')]
  const environment = { PATH: process.env['PATH'], HOUSE_ROOT: root }

  const told: ((names: readonly string[]) => void)[] = []
  const preload = join(import.meta.dir, 'instrument.ts')
  const child = Bun.spawn(
    [process.execPath, '--preload', preload, main, 'serve', ...data, '--port', '0', '--json'],
    {
      cwd: folder,
      env: environment,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      ipc: (names) => told.shift()?.(names as readonly string[]),
    },
  )
  undo.defer(async () => {
    // It would wait for the channel to this process.
    child.kill('SIGKILL')
    await child.exited
  })
  const lines: string[] = []
  void readLines(child.stderr, (line) => lines.push(line))
  const first = Promise.withResolvers<string>()
  void readLines(child.stdout, first.resolve)
  const ended = child.exited.then((code) => {
    throw new Error(`The server ended with ${code}:\n${lines.join('\n')}`)
  })
  const ready = JSON.parse(await Promise.race([first.promise, ended])) as ReadyLine
  ended.catch(() => undefined)

  const importing = Bun.spawn([process.execPath, main, 'import', schema, ...data], {
    cwd: folder,
    env: environment,
    stdout: 'ignore',
    stderr: 'inherit',
  })
  if ((await importing.exited) !== 0) throw new Error('The schema could not be imported')

  const tell = (): Promise<readonly string[]> => {
    const { promise, resolve } = Promise.withResolvers<readonly string[]>()
    told.push(resolve)
    child.send('tell')
    return promise
  }
  const parts = undo.move()
  return {
    ready,
    lines,
    clear: () => child.send('clear'),
    async idle() {
      for (let names = await tell(); ;) {
        await Bun.sleep(200)
        const later = await tell()
        if (later.length === names.length) return later
        names = later
      }
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

async function createWorld({ ready, lines }: Instrumented): Promise<World> {
  const { client } = ready
  const main = ready.databases[0]?.url ?? ''
  const tokenOf = async (scopes: readonly string[], user?: string) => {
    const issued = await succeed<{ accessToken: string }>(tokenRequest(main, client, scopes, user))
    return issued?.accessToken ?? ''
  }
  const root = await tokenOf(['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE', 'MANAGE_DB'])
  const alice = await tokenOf(['ACCESS_DB'], ALICE)
  await succeed(send('POST', `${main}/my/items`, alice, { id: KEY, title: 'Milk' }))
  const realm = send('POST', `${main}/my/realms`, alice, { name: 'Groceries' })
  const { realmId = '' } = (await succeed<{ realmId: string }>(realm)) ?? {}
  return {
    main,
    client,
    root,
    alice,
    realmId,
    invitations: () =>
      lines
        .filter((line) => line.includes('"kind":"invite"'))
        .map((line) => (JSON.parse(line) as { variables: { link: string } }).variables.link),
  }
}

async function readLines(stream: ReadableStream<Uint8Array>, take: (line: string) => void) {
  let rest = ''
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  }
}
