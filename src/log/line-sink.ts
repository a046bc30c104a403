import { write, writeSync } from 'node:fs'

/** Writes log lines without blocking the caller on the disk or the terminal. */
export interface LineSink {
  /** `line` has no line break. It is dropped, and counted, when the reader is too far behind. */
  write(line: string): void
  /** Resolves when every line written so far has left the process. */
  flush(): Promise<void>
  /** `flush` without waiting, for a process that is about to end. */
  flushNow(): void
}

/** The destination of the batches. */
export interface Outlet {
  write(bytes: Uint8Array): Promise<void>
  writeNow(bytes: Uint8Array): void
}

const BATCH_DELAY_MS = 50
const BATCH_CHARACTERS = 64 * 1024
const MOST_PENDING_CHARACTERS = 8 * 1024 * 1024

/**
 * Collects lines and writes them in batches, one write under way at a time: when a batch is large
 * enough or has waited long enough. At 75,000 requests a second a system call per line would cost
 * more than the requests. `lost` makes the line that reports how many lines were dropped because the
 * outlet was blocked.
 */
export function batchLines(outlet: Outlet, lost: (lines: number) => string): LineSink {
  let pending = ''
  let dropped = 0
  let timer: Timer | undefined
  let writing: Promise<void> | undefined
  /** Writes pending lines now, or as soon as the current write has ended. */
  let isDue = false

  function take(): Uint8Array {
    clearTimeout(timer)
    timer = undefined
    isDue = false
    const text = dropped === 0 ? pending : `${lost(dropped)}\n${pending}`
    pending = ''
    dropped = 0
    return Buffer.from(text)
  }

  async function drain(): Promise<void> {
    // A log that cannot be written must not stop the server.
    while (isDue) await outlet.write(take()).catch(() => undefined)
    writing = undefined
  }

  function start(): Promise<void> {
    if (pending === '') return writing ?? Promise.resolve()
    isDue = true
    writing ??= drain()
    return writing
  }

  return {
    write(line) {
      if (pending.length > MOST_PENDING_CHARACTERS) {
        dropped += 1
        return
      }
      pending += `${line}\n`
      if (pending.length >= BATCH_CHARACTERS) void start()
      else timer ??= setTimeout(() => void start(), BATCH_DELAY_MS).unref()
    },
    flush: start,
    flushNow() {
      if (pending !== '') outlet.writeNow(take())
    },
  }
}

const RETRY_MS = 5

/** A descriptor of this process: a file, a terminal or a pipe, which may be full for a while. */
export function openOutlet(descriptor: number): Outlet {
  return {
    async write(bytes) {
      for (let rest = bytes; rest.length > 0;) {
        const written = await writeSome(descriptor, rest)
        if (written === 0) await Bun.sleep(RETRY_MS)
        rest = rest.subarray(written)
      }
    },
    writeNow(bytes) {
      try {
        for (let rest = bytes; rest.length > 0;) rest = rest.subarray(writeSync(descriptor, rest))
      } catch {
        // The reader is gone or blocked, and there is no other place to report it.
      }
    },
  }
}

function writeSome(descriptor: number, bytes: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    write(descriptor, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') resolve(0)
      else if (error) reject(error)
      else resolve(written)
    })
  })
}
