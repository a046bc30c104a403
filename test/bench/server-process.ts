import { readFile, stat, writeFile } from 'node:fs/promises'

/** A server under test: a floor or Satchel. Disposing ends it. */
export interface ServerProcess extends AsyncDisposable {
  readonly pid: number
  /** The first line it printed. */
  readonly ready: ReadyLine
}

export interface ReadyLine {
  readonly url: string
  readonly databases: readonly { readonly name: string; readonly url: string }[]
  readonly client?: { readonly clientId: string; readonly clientSecret: string }
  /** Of a server in test mode. */
  readonly test?: { readonly token: string }
}

export interface Launch {
  readonly command: readonly string[]
  /** Gets the standard error. */
  readonly log: string
  /** Kills the process when aborted. */
  readonly signal: AbortSignal
}

/**
 * Starts a server and waits for the line that says it answers.
 * @throws Error with the end of its log when it ends before that.
 */
export async function startServer(launch: Launch): Promise<ServerProcess> {
  const child = Bun.spawn([...launch.command], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: Bun.file(launch.log),
    signal: launch.signal,
    killSignal: 'SIGKILL',
  })
  const line = await readLine(child.stdout)
  if (line === undefined) {
    const code = await child.exited
    const log = await logEnd(launch.log)
    throw new Error(`${launch.command.join(' ')} ended with ${code} before it was ready\n${log}`)
  }
  return {
    pid: child.pid,
    ready: JSON.parse(line) as ReadyLine,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      const patience = setTimeout(() => child.kill('SIGKILL'), 15_000)
      await child.exited
      clearTimeout(patience)
    },
  }
}

async function readLine(stream: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true })
    const end = text.indexOf('\n')
    if (end !== -1) return text.slice(0, end)
  }
  return undefined
}

/** The last 2,000 bytes of a log, however long it is. */
export async function logEnd(file: string): Promise<string> {
  const { size } = await stat(file)
  return Bun.file(file)
    .slice(Math.max(0, size - 2000))
    .text()
}

/** Resident memory of a process now, in MB. */
export async function residentMegabytes(pid: number): Promise<number> {
  return statusMegabytes(pid, 'VmRSS')
}

/** The most resident memory a process had since the last `resetPeak`, in MB. */
export async function peakMegabytes(pid: number): Promise<number> {
  return statusMegabytes(pid, 'VmHWM')
}

/** Begins a new reading of `peakMegabytes` (proc(5), clear_refs). */
export async function resetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5')
}

/** The CPU time that a process has taken, ms. */
export async function cpuMilliseconds(pid: number): Promise<number> {
  const [, fields = ''] = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')
  const [user, system] = fields.split(' ').slice(11, 13).map(Number)
  return ((user ?? 0) + (system ?? 0)) * 10
}

async function statusMegabytes(pid: number, field: string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]
  if (kilobytes === undefined) throw new Error(`No ${field} in the status of process ${pid}`)
  return Number(kilobytes) / 1024
}
