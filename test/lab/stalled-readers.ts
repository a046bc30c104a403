import { readdirSync, readlinkSync } from 'node:fs'
import { setupExecutable, sendUnread } from '../promises/setup'
import type { Finding } from './experiment'

const READERS = 100
const CEILING = 512
/** A reader is cut after 30 s without taking anything; the runtime looks every few seconds. */
const LEAST_SECONDS = 25
const MOST_SECONDS = 60

/** Promise 35 in full: readers who take nothing are cut after 30 s, silently and for good. */
export async function stallReaders(rounds: number): Promise<Finding> {
  const problems: string[] = []
  const facts: string[] = []
  let log: Promise<string>
  {
    await using executable = await setupExecutable()
    log = executable.served.log
    const root = await executable.root()
    const objects = Array.from({ length: 1_000 }, () => ({ text: 'x'.repeat(8_000) }))
    for (let part = 0; part < 10; part += 1) {
      await root.post('/public/items', objects, { prefer: 'return=minimal' })
    }
    for (let round = 1; round <= rounds; round += 1) {
      const before = socketsOf(executable.served.pid)
      const request = 'GET /main/public/items HTTP/1.1\r\nHost: x\r\n\r\n'
      const sockets = Array.from({ length: READERS }, () => sendUnread(executable.url, request))
      const seconds = await secondsUntil(() => socketsOf(executable.served.pid) <= before + 2)
      for (const socket of sockets) socket.destroy()
      facts.push(`cut after ${seconds} s`)
      if (seconds < LEAST_SECONDS || seconds > MOST_SECONDS) {
        problems.push(`round ${round}: the readers were cut after ${seconds} s`)
      }
      const { status } = await root.get('/public/items?$limit=1')
      if (status !== 200) problems.push(`round ${round}: others were answered ${status}`)
    }
    const { peak } = executable.memory()
    facts.push(`at most ${Math.round(peak)} MiB`)
    if (peak >= CEILING) problems.push(`it held ${peak} MiB`)
  }
  for (const line of (await log).trimEnd().split('\n')) {
    if (!line.startsWith('{') || line.includes('"level":"error"')) problems.push(line)
  }
  return { facts: facts.join(', '), problems }
}

async function secondsUntil(isTrue: () => boolean): Promise<number> {
  await Bun.sleep(5_000)
  let seconds = 5
  while (!isTrue() && seconds <= MOST_SECONDS) {
    await Bun.sleep(1_000)
    seconds += 1
  }
  return seconds
}

function socketsOf(pid: number): number {
  const folder = `/proc/${pid}/fd`
  return readdirSync(folder).filter((name) => {
    try {
      return readlinkSync(`${folder}/${name}`).startsWith('socket:')
    } catch {
      // Closed since the folder was read.
      return false
    }
  }).length
}
