import { openClient } from '../bench/sync/client'
import { follow, type Follower } from '../bench/sync/follower'

/**
 * Clients of one user with a socket each, in a process of its own. FOLLOW is the JSON of `{url, token, userId, sockets}`.
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
const followers: Follower[] = []
const seen = { messages: 0, bytes: 0 }
const problems = new Set<string>()

function report(): void {
  const { messages, bytes } = seen
  const megabytes = Math.round(bytes / 1e6)
  const pulls = followers.reduce((sum, each) => sum + each.pulls, 0)
  const told = pulls + followers.filter(({ isPulling }) => isPulling).length
  process.send?.({ told, messages, pulls, megabytes, problems: [...problems] } satisfies Report)
}

const first = await openClient(url, { userId, token }, 'first').sync([])
for (let from = 0; from < sockets; from += TOGETHER) {
  const some = Array.from({ length: Math.min(TOGETHER, sockets - from) }, (_, at) => from + at)
  const begun = some.map((at) =>
    follow({
      url,
      token,
      identity: `device${at}`,
      first,
      heard: (type) => (seen.messages += type === 'changes' ? 1 : 0),
      received: (bytes) => (seen.bytes += bytes),
      failed: (error) => problems.add(String(error)),
    }),
  )
  followers.push(...(await Promise.all(begun)))
}
report()
setInterval(report, REPORT_EVERY)
