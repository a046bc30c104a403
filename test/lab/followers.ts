import { realmSetHash } from '../../src/domain/sync/realm-set'
import { type Answer, listen, openClient } from '../bench/sync/client'

/**
 * Clients of one user with a socket each, which pull when they are told to and drop what they get. Runs
 * in a process of its own: FOLLOW is the JSON of `{url, token, userId, sockets}`.
 */
const { url, token, userId, sockets } = JSON.parse(process.env['FOLLOW'] ?? '{}') as {
  readonly url: string
  readonly token: string
  readonly userId: string
  readonly sockets: number
}

/** What the process reports every second; the first report says that all are connected. */
export interface Report {
  readonly told: number
  readonly messages: number
  readonly pulls: number
  readonly megabytes: number
  readonly problems: readonly string[]
}

/** Sockets that connect at the same time. */
const TOGETHER = 50
const REPORT_EVERY = 1_000
const seen = { told: 0, messages: 0, pulls: 0, bytes: 0 }
const problems = new Set<string>()

async function follow(identity: string, first: Answer): Promise<void> {
  let last = first
  let isPulling = false
  const socket = await listen(url, token, identity, last, (type) => {
    if (type === 'changes') seen.messages += 1
    if (type === 'changes' || isPulling) return
    seen.told += 1
    isPulling = true
    void pull().catch((error: unknown) => problems.add(String(error)))
  })

  async function pull(): Promise<void> {
    const { dbId: dbID, ...lastPull } = last
    const schema = { items: { markedForSync: true, initiallySynced: true } }
    const fields = { v: 3, dbID, clientIdentity: identity, schema, lastPull }
    const response = await fetch(`${url}/sync`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...fields, baseRevs: [], changes: [] }),
    })
    if (!response.ok || response.body === null) throw new Error(`/sync: ${response.status}`)
    const serverRevision = await revisionIn(response.body)
    last = { ...last, serverRevision }
    seen.pulls += 1
    isPulling = false
    const hash = realmSetHash(last.realms, last.inviteRealms)
    socket.send(JSON.stringify({ type: 'ready', rev: serverRevision, realmSetHash: hash }))
  }
}

/** Only the end: to parse all of them would take longer than to make them. */
async function revisionIn(body: ReadableStream<Uint8Array>): Promise<string> {
  let end = Buffer.alloc(0)
  for await (const chunk of body) {
    seen.bytes += chunk.length
    end = Buffer.concat([end, chunk.subarray(-300)]).subarray(-300)
  }
  const text = end.toString('latin1')
  const field = text.slice(text.lastIndexOf('"serverRevision":'))
  return (JSON.parse(`{${field}`) as Answer).serverRevision
}

function report(): void {
  const { told, messages, pulls, bytes } = seen
  const megabytes = Math.round(bytes / 1e6)
  process.send?.({ told, messages, pulls, megabytes, problems: [...problems] } satisfies Report)
}

const first = await openClient(url, { userId, token }, 'first').sync([])
for (let from = 0; from < sockets; from += TOGETHER) {
  const some = Array.from({ length: Math.min(TOGETHER, sockets - from) }, (_, at) => from + at)
  await Promise.all(some.map((at) => follow(`device${at}`, first)))
}
report()
setInterval(report, REPORT_EVERY)
