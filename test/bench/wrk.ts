import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A load: all its requests have the same method and the same token. */
export interface Load {
  readonly method: 'GET' | 'POST'
  readonly requests: readonly LoadRequest[]
  readonly token?: string
  /** 64 unless told. */
  readonly connections?: number
}

export interface LoadRequest {
  /** From the server's root. */
  readonly path: string
  /** JSON in which `freshStamp` becomes a number never used before. */
  readonly body?: string
}

export interface LoadSample {
  readonly perSecond: number
  readonly requests: number
  /** Latencies in ms. */
  readonly p50: number
  readonly p99: number
}

export interface Wrk {
  /**
   * Puts a load on the server at `url` for some seconds.
   * @throws Error when an answer is not 2xx or 3xx or a connection breaks.
   */
  run(url: string, load: Load, seconds: number): Promise<LoadSample>
}

const script = join(import.meta.dir, 'wrk.lua')

/** Drives `wrk` (Debian) with its request files in `folder`. */
export function createWrk(folder: string, signal: AbortSignal): Wrk {
  let number = 0
  return {
    async run(url, load, seconds) {
      number += 1
      const file = join(folder, `load-${number}.txt`)
      await writeFile(file, load.requests.map(requestLine).join('\n'))
      const connections = String(load.connections ?? 64)
      const options = ['-t', '2', '-c', connections, '-d', `${seconds}s`, '--timeout', '30s']
      const header = load.token === undefined ? [] : ['-H', `authorization: Bearer ${load.token}`]
      const args = ['-s', script, url, '--', load.method, file, String(number)]
      const command = ['wrk', ...options, ...header, ...args]
      const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'pipe', signal })
      const [output, complaint] = await Promise.all([child.stdout.text(), child.stderr.text()])
      if ((await child.exited) !== 0) throw new Error(`wrk failed: ${complaint || output}`)
      return parseSummary(output)
    },
  }
}

function requestLine({ path, body }: LoadRequest): string {
  return body === undefined ? path : `${path}\t${body}`
}

function parseSummary(output: string): LoadSample {
  const line = output.split('\n').find((text) => text.startsWith('{'))
  if (line === undefined) throw new Error(`wrk printed no summary: ${output}`)
  const summary = JSON.parse(line) as Record<
    'requests' | 'microseconds' | 'p50' | 'p99' | 'refused' | 'broken',
    number
  >
  if (summary.requests === 0 || summary.refused + summary.broken > 0) {
    throw new Error(
      `Of ${summary.requests} requests ${summary.refused} were refused, ${summary.broken} broke`,
    )
  }
  return {
    perSecond: (summary.requests / summary.microseconds) * 1e6,
    requests: summary.requests,
    p50: summary.p50 / 1000,
    p99: summary.p99 / 1000,
  }
}
