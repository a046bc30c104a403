import { readdirSync, statSync } from 'node:fs'
import { once } from 'node:events'
import { join } from 'node:path'
import process from 'node:process'
import type { ClientCredentials } from '../../src/domain/database/client'
import type { TestClock } from '../auth/setup'

/** Given to the process of the server. */
export type Order =
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'measure' }
  | { readonly do: 'stop' }

/** The state of the process of the server, bytes, after an order. */
export interface State {
  readonly memory: number
  readonly heap: number
  /** What it has written to its log so far. */
  readonly lines: number
  /** The lines of errors since the last reply. */
  readonly errors: readonly string[]
}

export type Reply = State | { readonly client?: ClientCredentials | undefined }

/** A server from source whose clock is moved from here. */
export interface MovedServer extends AsyncDisposable {
  readonly client: ClientCredentials
  /** Moves its clock. */
  advance(ms: number): Promise<void>
  /** Its state without garbage and compiled code. */
  measure(): Promise<State>
  /** The number of its open files and sockets; NaN where the system does not tell. */
  descriptors(): number
  /** What it has reported since the last call. */
  errors(): readonly string[]
}

/** Starts it at the time of `clock`, which it moves too. Times of day are those of UTC. */
export async function startMovedServer(
  clock: TestClock,
  flags: Readonly<Record<string, unknown>>,
): Promise<MovedServer> {
  let reported: string[] = []
  const replies: Reply[] = []
  const arrived = new EventTarget()
  const child = Bun.spawn(
    [
      process.execPath,
      join(import.meta.dir, 'served.ts'),
      JSON.stringify({ start: clock.now(), flags }),
    ],
    {
      env: { TZ: 'UTC' },
      stdout: 'ignore',
      stderr: 'inherit',
      ipc(reply: Reply) {
        replies.push(reply)
        arrived.dispatchEvent(new Event('reply'))
      },
    },
  )
  const ended = child.exited.then((code) => {
    throw new Error(`The server ended with ${code}`)
  })
  ended.catch(() => undefined)

  async function next<T extends Reply>(): Promise<T> {
    if (replies.length === 0) await Promise.race([once(arrived, 'reply'), ended])
    return replies.shift() as T
  }

  async function order(given: Order): Promise<State> {
    child.send(given)
    const state = await next<State>()
    reported.push(...state.errors)
    return state
  }

  const { client } = await next<{ readonly client: ClientCredentials }>()
  return {
    client,
    async advance(ms) {
      clock.advance(ms)
      await order({ do: 'advance', ms })
    },
    measure: () => order({ do: 'measure' }),
    descriptors() {
      try {
        return readdirSync(`/proc/${child.pid}/fd`).length
      } catch {
        return Number.NaN
      }
    },
    errors() {
      const told = reported
      reported = []
      return told
    },
    async [Symbol.asyncDispose]() {
      child.send({ do: 'stop' } satisfies Order)
      await child.exited
    },
  }
}

/** The bytes of the files below a folder, those whose names end with `ending` only. */
export function bytesIn(folder: string, ending = ''): number {
  let bytes = 0
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const found = statSync(join(folder, name), { throwIfNoEntry: false })
    if (found?.isFile() && name.endsWith(ending)) bytes += found.size
  }
  return bytes
}
