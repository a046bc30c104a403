import { realmSetHash } from '../../../src/domain/sync/realm-set'

/** A user with a token. */
export interface Person {
  readonly userId: string
  readonly token: string
}

export interface Answer {
  readonly dbId: string
  readonly serverRevision: string
  readonly realms: readonly string[]
  readonly inviteRealms: readonly string[]
}

const tables = ['items', 'realms', 'members', 'roles', 'a', 'b', 'c', 'd', 'e', 'f']
const marked = { markedForSync: true, initiallySynced: true }
export const schema = Object.fromEntries(tables.map((table) => [table, marked]))

/** A protocol client of the database at `url`; it declares ten tables. */
export function openClient(url: string, { userId, token }: Person, identity: string) {
  const authorization = `Bearer ${token}`
  let last: Answer | undefined
  let rev = 0

  async function request(changes: readonly object[]): Promise<Response> {
    const { dbId: dbID, ...lastPull } = last ?? {}
    const serverRev = last?.serverRevision
    const baseRevs = tables.map((tableName) => ({ tableName, clientRev: rev, serverRev }))
    const fields = { v: 3, dbID, clientIdentity: identity, schema, baseRevs, changes, y: [] }
    const body = JSON.stringify(last === undefined ? fields : { ...fields, lastPull })
    const headers = { authorization, 'content-type': 'application/tson' }
    const response = await fetch(`${url}/sync`, { method: 'POST', headers, body })
    if (!response.ok) throw new Error(`POST /sync: ${response.status} ${await response.text()}`)
    return response
  }

  async function sync(changes: readonly object[]): Promise<Answer> {
    const answer = (await (await request(changes)).json()) as Answer
    const { dbId, serverRevision, realms, inviteRealms } = answer
    last = { dbId, serverRevision, realms, inviteRealms }
    return answer
  }

  return {
    sync,
    /** A first sync whose answer is dropped, as that of a list. */
    async pull(): Promise<void> {
      await (await request([])).arrayBuffer()
    },
    async push(text: string): Promise<void> {
      rev += 1
      const value = JSON.parse(text) as { readonly id: string }
      const facts = { txid: `${identity}-${rev}`, ts: Date.now(), opNo: 1, rev, userId }
      const mut = { type: 'insert', keys: [value.id], values: [value], ...facts }
      await sync([{ table: 'items', muts: [mut] }])
    },
    async post(text: string): Promise<void> {
      const headers = { authorization, 'content-type': 'application/json' }
      const response = await fetch(`${url}/my/items`, {
        method: 'POST',
        headers,
        body: text,
      })
      if (!response.ok) throw new Error(`POST /my/items: ${response.status}`)
      await response.arrayBuffer()
    },
    /** Opens a socket that answers each message; `heard` is told of the type of each. */
    async listen(heard: (type: string) => void): Promise<WebSocket> {
      return listen(url, token, identity, last ?? (await sync([])), heard)
    },
  }
}

/** Opens a socket of a client that has this answer. */
export async function listen(
  url: string,
  token: string,
  identity: string,
  { serverRevision, realms, inviteRealms }: Answer,
  heard: (type: string) => void,
): Promise<WebSocket> {
  const hash = realmSetHash(realms, inviteRealms)
  const query = new URLSearchParams({ v: '3', rev: serverRevision, clientId: identity, token })
  const socket = new WebSocket(`${url.replace('http', 'ws')}/changes?${String(query)}`)
  const ready = (rev: string) =>
    socket.send(JSON.stringify({ type: 'ready', rev, realmSetHash: hash }))
  socket.addEventListener('message', ({ data }) => {
    const { type, newRev } = JSON.parse(String(data)) as { type: string; newRev?: string }
    heard(type)
    if (type === 'changes') ready(newRev ?? '')
  })
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve)
    socket.addEventListener('error', reject)
  })
  ready(serverRevision)
  return socket
}
