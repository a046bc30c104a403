import type { Bench } from './bench'
import { percentile } from './statistics'
import type { Load, LoadSample } from './wrk'

/** The time that one download of a whole list took, in ms. */
export interface Download {
  readonly firstByte: number
  readonly whole: number
}

/** Downloads the first request of a load again and again over one connection. */
export async function measureDownloads(
  _bench: Bench,
  url: string,
  load: Load,
  seconds: number,
): Promise<LoadSample> {
  const path = load.requests[0]?.path ?? '/'
  const times: number[] = []
  const begin = performance.now()
  do {
    times.push((await download(url + path, load.token)).whole)
  } while (performance.now() - begin < seconds * 1000)
  return {
    perSecond: (times.length / (performance.now() - begin)) * 1000,
    requests: times.length,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
  }
}

/**
 * Downloads an address and drops what comes.
 * @throws Error when it is refused or the connection breaks.
 */
export async function download(address: string, token: string | undefined): Promise<Download> {
  const begin = performance.now()
  const response = await fetch(address, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  })
  if (!response.ok || response.body === null) {
    throw new Error(`GET ${address}: ${response.status} ${await response.text()}`)
  }
  const reader = response.body.getReader()
  await reader.read()
  const firstByte = performance.now() - begin
  while (!(await reader.read()).done);
  return { firstByte, whole: performance.now() - begin }
}
