import { realmSetHash } from '../../../src/domain/sync/realm-set'
import { type Answer, listen } from './client'

/** A client with a socket, which pulls when it is told to and drops what it gets. */
export interface Follower {
  readonly socket: WebSocket
  /** Finished pulls. */
  readonly pulls: number
  readonly isPulling: boolean
}

export interface FollowerOptions {
  readonly url: string
  readonly token: string
  readonly identity: string
  /** The last answer to a sync of this user. */
  readonly first: Answer
  readonly signal?: AbortSignal
  /** Called with the type of each message. */
  readonly heard?: (type: string) => void
  /** Called with the size of each part of an answer. */
  readonly received?: (bytes: number) => void
  /** Called with the error of a pull, after which this client pulls no more. */
  readonly failed: (error: unknown) => void
}

export async function follow(options: FollowerOptions): Promise<Follower> {
  const { url, token, identity, first, signal, heard, received, failed } = options
  let last = first
  const state = { pulls: 0, isPulling: false }
  const socket = await listen(url, token, identity, last, (type) => {
    heard?.(type)
    if (type === 'changes' || state.isPulling) return
    state.isPulling = true
    void pull().catch(failed)
  })
  return Object.assign(state, { socket })

  async function pull(): Promise<void> {
    const { dbId: dbID, ...lastPull } = last
    const schema = { items: { markedForSync: true, initiallySynced: true } }
    const fields = { v: 3, dbID, clientIdentity: identity, schema, lastPull }
    const response = await fetch(`${url}/sync`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...fields, baseRevs: [], changes: [] }),
      signal: signal ?? null,
    })
    if (!response.ok || response.body === null) throw new Error(`/sync: ${response.status}`)
    const serverRevision = await revisionIn(response.body, received)
    last = { ...last, serverRevision }
    state.pulls += 1
    state.isPulling = false
    const hash = realmSetHash(last.realms, last.inviteRealms)
    socket.send(JSON.stringify({ type: 'ready', rev: serverRevision, realmSetHash: hash }))
  }
}

/** Only the end: to parse all of them would take longer than to make them. */
async function revisionIn(
  body: ReadableStream<Uint8Array>,
  received: (bytes: number) => void = () => undefined,
): Promise<string> {
  let end = Buffer.alloc(0)
  for await (const chunk of body) {
    received(chunk.length)
    end = Buffer.concat([end, chunk.subarray(-300)]).subarray(-300)
  }
  const text = end.toString('latin1')
  const field = text.slice(text.lastIndexOf('"serverRevision":'))
  return (JSON.parse(`{${field}`) as Answer).serverRevision
}
