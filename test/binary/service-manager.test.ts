import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { listenForState, PYTHON } from '../cli/notify-socket'
import { temporaryFolder } from '../setup'
import { until } from '../timing'
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
    await until(() => manager.messages.includes('WATCHDOG=1'))
    server.kill('SIGTERM')
    expect(await server.exited).toBe(0)
    await until(() => manager.messages.some((message) => message.startsWith('STOPPING=1')))
    const states = manager.messages.filter((message) => message !== 'WATCHDOG=1')
    expect(states.map((message) => message.split(' ')[0])).toEqual(['READY=1', 'STOPPING=1'])
  },
)
