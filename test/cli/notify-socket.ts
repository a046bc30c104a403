import { join } from 'node:path'
import { until } from '../timing'

/** The Python that listens for what a service tells its manager, if there is one. */
export const PYTHON = Bun.which('python3')

const LISTENER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1].replace('@', '\\0', 1))
print('bound', flush=True)
while True:
    print(s.recv(4096).decode().replace('\\n', ' '), flush=True)
`

/** A service manager, as far as it listens. */
export interface Manager extends AsyncDisposable {
  /** The messages so far, with spaces between their lines. */
  readonly messages: readonly string[]
  /** For a service that it starts. */
  readonly environment: Readonly<Record<string, string>>
}

/** Listens on a socket in `folder`, or with a name that is in no folder. */
export async function listenForState(folder: string, isAbstract = false): Promise<Manager> {
  const address = isAbstract ? `@satchel-test-${Bun.randomUUIDv7()}` : join(folder, 'notify')
  const child = Bun.spawn([PYTHON ?? 'python3', '-c', LISTENER, address], {
    stdin: 'ignore',
    stdout: 'pipe',
  })
  const lines: string[] = []
  const reading = (async () => {
    let text = ''
    for await (const piece of child.stdout.pipeThrough(new TextDecoderStream())) {
      const parts = (text + piece).split('\n')
      text = parts.pop() ?? ''
      lines.push(...parts)
    }
  })()
  await until(() => lines.length > 0)
  lines.shift()
  return {
    messages: lines,
    environment: { NOTIFY_SOCKET: address, WATCHDOG_USEC: '300000' },
    async [Symbol.asyncDispose]() {
      child.kill()
      await reading
    },
  }
}
