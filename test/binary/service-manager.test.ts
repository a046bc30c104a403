import { expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { hasControllingTerminal } from '../../src/cli/serve'
import { listenForState, PYTHON } from '../cli/notify-socket'
import { temporaryFolder } from '../setup'
import { turns, until } from '../timing'
import { EXECUTABLE } from './setup'

test.skipIf(PYTHON === null)(
  'the executable tells a service manager its state (needs python3: apt-get install python3)',
  async () => {
    using folder = temporaryFolder()
    await using manager = await listenForState(folder.path)
    const server = Bun.spawn(
      [EXECUTABLE, 'serve', '-p', '0', '--data', join(folder.path, 'data')],
      {
        env: { XDG_RUNTIME_DIR: '/dev/null', ...manager.environment },
        stdio: ['ignore', 'ignore', 'ignore'],
      },
    )
    await until(() => manager.messages.some((message) => message.startsWith('READY=1')))
    await until(() => manager.messages.includes('WATCHDOG=1'))
    const ready = manager.messages.find((message) => message.startsWith('READY=1')) ?? ''
    const socket = await beginRequest(new URL(ready.split(' ').at(-1) ?? ''))
    server.kill('SIGTERM')
    await until(() => manager.messages.some((message) => message.startsWith('STOPPING=1')))
    // A reload does not make a server ready that stops.
    if (!hasControllingTerminal()) server.kill('SIGHUP')
    await turns()
    socket.destroy()
    expect(await server.exited).toBe(0)
    const states = manager.messages.filter((message) => message !== 'WATCHDOG=1')
    expect(states.map((message) => message.split(' ')[0])).toEqual(['READY=1', 'STOPPING=1'])
  },
)

/** Begins a request that the server waits for when it stops. */
async function beginRequest({ port, origin }: URL): Promise<Socket> {
  const socket = connect(Number(port), '127.0.0.1')
  await new Promise((resolve) => socket.once('connect', resolve))
  const head = 'POST /main/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json'
  socket.write(`${head}\r\nContent-Length: 100\r\n\r\n{`)
  // The server reads what arrived earlier first.
  await fetch(`${origin}/health`)
  return socket
}
