import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { serve } from '../binary/setup'
import { type Caller, callerOf } from '../http/setup'
import { temporaryFolder } from '../setup'
import { setupExecutable } from './setup'

const strace = Bun.which('strace')

/** A call to the kernel: when it began and when it was over, as places in the trace. */
interface Call {
  readonly text: string
  readonly begun: number
  readonly over: number
}

/** The calls in a trace of several threads, where those that took their time are in two lines. */
function callsIn(trace: string): Call[] {
  const calls: Call[] = []
  const open = new Map<string, { readonly text: string; readonly begun: number }>()
  for (const [line, text] of trace.split('\n').entries()) {
    const [, thread = '', rest = ''] = /^(\d+) +(.*)$/.exec(text) ?? []
    const begun = open.get(thread)
    if (rest.endsWith('<unfinished ...>')) open.set(thread, { text: rest, begun: line })
    else if (rest.includes(' resumed>') && begun !== undefined) calls.push({ ...begun, over: line })
    else calls.push({ text: rest, begun: line, over: line })
  }
  return calls
}

/**
 * Promise 2 for blobs: the bytes and their name, then the record are on the disk before an upload is
 * answered; a power cut at any moment finds whole blobs behind their records.
 */
describe('promise 2: an upload', () => {
  /** The calls that an upload makes in a server that has had one, of these bytes. */
  async function callsOfUpload(pid: number, root: Caller, first = 'first'): Promise<Call[]> {
    using logs = temporaryFolder()
    await root.send('PUT', '/blob/first', { body: first })
    const log = join(logs.path, 'trace')
    const args = ['-f', '-y', '-s', '64', '-o', log, '-p', String(pid)]
    const calls = 'trace=fsync,fdatasync,rename,renameat,renameat2,sendto'
    const tracer = Bun.spawn([strace ?? '', '-e', calls, ...args], { stderr: 'pipe' })
    await tracer.stderr.getReader().read()
    const { status } = await root.send('PUT', '/blob/second', { body: 'second' })
    expect(status).toBe(200)
    tracer.kill('SIGINT')
    await tracer.exited
    return callsIn(readFileSync(log, 'utf8'))
  }

  const name = '/blobs/[\\da-f]{64}'

  test.skipIf(strace === null)(
    'is on the disk, bytes, name and record, in this order (needs strace)',
    async () => {
      await using executable = await setupExecutable()
      const calls = await callsOfUpload(executable.served.pid, await executable.root())
      const steps = [
        /^fsync\(\d+<.*\/blobs\/incoming\/[^/]+>/,
        new RegExp(`^rename.*/incoming/.*${name}"`),
        /^fsync\(\d+<.*\/blobs>/,
        /^f(?:data)?sync\(\d+<.*\/database\.sqlite-wal>/,
        /^sendto\(.*HTTP\/1\.1 200/,
      ].map((step) => {
        const call = calls.find(({ text }) => step.test(text))
        if (call === undefined) throw new Error(`no ${step} in ${JSON.stringify(calls)}`)
        return call
      })
      for (const [n, step] of steps.entries()) {
        if (n > 0) expect(steps[n - 1]?.over).toBeLessThanOrEqual(step.begun)
      }
    },
  )

  test.skipIf(strace === null)(
    'waits as long for the disk if its bytes exist, so that the time reveals no uploads of others (needs strace)',
    async () => {
      const isWait = ({ text }: Call) => /^f(?:data)?sync/.test(text)
      const waits: number[] = []
      for (const first of ['first', 'second']) {
        await using executable = await setupExecutable()
        const root = await executable.root()
        const calls = await callsOfUpload(executable.served.pid, root, first)
        waits.push(calls.filter(isWait).length)
      }
      expect(waits).toEqual([3, 3])
    },
  )

  test.skipIf(strace === null)('waits for no disk with --memory (needs strace)', async () => {
    using folder = temporaryFolder()
    await using served = await serve({ cwd: folder.path }, ['--memory'])
    const main = `${served.ready.url}/main`
    const { body } = await callerOf(main).post('/token', {
      grant_type: 'client_credentials',
      client_id: served.ready.client?.clientId,
      client_secret: served.ready.client?.clientSecret,
      scopes: ['ACCESS_DB'],
    })
    const { accessToken } = body as { accessToken: string }
    const calls = await callsOfUpload(served.pid, callerOf(main, accessToken))
    expect(calls.filter(({ text }) => /^f(?:data)?sync/.test(text))).toEqual([])
    expect(calls.some(({ text }) => new RegExp(`${name}"`).test(text))).toBe(true)
  })
})
