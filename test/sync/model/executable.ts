import { pushSchema, serve, type Surroundings } from '../../binary/setup'
import { keyOf, type Person, type Row, type Value } from '../../access/oracle-world'
import { temporaryFolder } from '../../setup'
import { Died, type ModelServer, STORES, TABLES } from './server'

/** The executable, which is killed with SIGKILL where another server would lose its memory. */
export interface ExecutableServer extends ModelServer, AsyncDisposable {
  /** The address of the database. */
  readonly main: string
  readonly surroundings: Surroundings
}

/** The wait for messages that may be on their way, ms. */
const ON_THEIR_WAY = 40

export async function setupExecutableServer(): Promise<ExecutableServer> {
  await using undo = new AsyncDisposableStack()
  const folder = undo.use(temporaryFolder())
  const surroundings = { cwd: folder.path }
  let process = await serve(surroundings)
  undo.defer(() => process[Symbol.asyncDispose]())
  const { url, client } = process.ready
  const { port } = new URL(url)
  const main = `${url}/main`
  await pushSchema(surroundings, STORES)
  const tokens = new Map<string, string>()
  let reports: string[] = []
  let doom: number | undefined
  let links = 0
  const parts = undo.move()

  async function tokenOf({ id, email = id }: Person, scopes: readonly string[]): Promise<string> {
    const known = tokens.get(id)
    if (known !== undefined) return known
    const { accessToken } = await read<{ accessToken: string }>('/token', {
      method: 'POST',
      body: JSON.stringify({
        grant_type: 'client_credentials',
        client_id: client?.clientId,
        client_secret: client?.clientSecret,
        scopes,
        claims: { sub: id, email, name: id },
      }),
    })
    tokens.set(id, accessToken)
    return accessToken
  }

  async function read<T>(path: string, init: RequestInit): Promise<T> {
    const response = await fetch(main + path, init)
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as T
  }

  async function asAdministrator(init: RequestInit = {}): Promise<RequestInit> {
    const token = await tokenOf(ADMINISTRATOR, ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE'])
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    return { ...init, headers }
  }

  /** Writes unless that is refused. */
  async function write(path: string, init: RequestInit): Promise<void> {
    const { status } = await fetch(main + path, await asAdministrator(init))
    if (status >= 500) reports.push(`${path}: ${status}`)
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    process.kill(signal)
    await process.exited
    const errors = (await process.log)
      .split('\n')
      .filter((line) => /"level":"(?:error|fatal)"/.test(line))
    reports.push(...errors)
  }

  async function restart(signal: NodeJS.Signals): Promise<void> {
    await end(signal)
    process = await serve(surroundings, ['--port', port])
  }

  return {
    main,
    surroundings,
    isPrompt: false,
    now: () => Date.now(),
    async sync(person, body) {
      const headers = {
        authorization: `Bearer ${await tokenOf(person, ['ACCESS_DB'])}`,
        'content-type': 'application/tson',
      }
      const answered = fetch(`${main}/sync`, { method: 'POST', headers, body })
      if (doom !== undefined) {
        const own = process
        setTimeout(() => own.kill('SIGKILL'), doom)
        doom = undefined
        const text = await answered.then((response) => response.text()).catch(() => undefined)
        await process.exited
        await restart('SIGKILL')
        if (text === undefined || !isWhole(text)) throw new Died()
        return text
      }
      const response = await answered
      const text = await response.text()
      if (!response.ok) throw new Error(`/sync: ${response.status} ${text}`)
      return text
    },
    connect(person, identity, receive) {
      const waiting: string[] = []
      let socket: WebSocket | undefined
      let isClosed = false
      links += 1
      const open = async () => {
        const token = await tokenOf(person, ['ACCESS_DB'])
        const query = new URLSearchParams({ v: '3', clientId: identity, token })
        if (isClosed) return
        socket = new WebSocket(`${main.replace('http', 'ws')}/changes?${String(query)}`)
        socket.addEventListener('message', ({ data }) => receive(String(data)))
        socket.addEventListener('open', () => {
          for (const text of waiting) socket?.send(text)
        })
      }
      void open()
      return {
        say(text) {
          if (socket?.readyState === WebSocket.OPEN) socket.send(text)
          else waiting.push(text)
        },
        close() {
          isClosed = true
          links -= 1
          socket?.close()
        },
      }
    },
    put: (table, ...objects) =>
      write(`/all/${table}`, { method: 'POST', body: JSON.stringify(objects) }),
    remove: (table, key) => write(`/all/${table}/${encodeURIComponent(key)}`, { method: 'DELETE' }),
    async pass() {
      if (links > 0) await Bun.sleep(ON_THEIR_WAY)
    },
    restart: () => restart('SIGTERM'),
    dieAfter(commits) {
      doom = commits
    },
    // It cannot be made to wait for half a year: it restarts.
    forget: () => restart('SIGTERM'),
    async world(realms) {
      const rows: Row[] = []
      for (const table of TABLES) {
        const values = await read<Value[]>(`/all/${table}`, await asAdministrator())
        for (const value of values) {
          if (!realms.includes(String(value['realmId']))) continue
          rows.push({ table, key: keyOf(table, value), value })
        }
      }
      return { rows, retired: [] }
    },
    reports() {
      const told = reports
      reports = []
      return told
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

const ADMINISTRATOR: Person = { id: 'administrator' }

function isWhole(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
