import { createMailbox } from '../../src/host/mailbox'
import { DEFAULT_LIMITS } from '../../src/auth/limits'
import type { Engine } from '../../src/domain/store/engine'
import { openFolderEngine } from '../../src/host/folder-engine'
import { type HostContext, openHost } from '../../src/host/host'
import { createHosts, type HostsOptions } from '../../src/host/hosts'
import { createOutbound } from '../../src/net/outbound'
import { createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'

const call = createOutbound({ allowed: null })

/** Hosts in a folder of their own. */
export function setupHosts(options: Partial<HostsOptions> = {}, parts: Partial<Engine> = {}) {
  using undo = new DisposableStack()
  const folder = undo.use(temporaryFolder())
  const clock = createTestClock()
  const opened: string[] = []
  const engine = openFolderEngine(folder.path, {
    durability: 'none',
    secretKey: new Uint8Array(32).fill(1),
    clock,
    clockOf: () => clock,
  })
  const { store } = engine
  const context: HostContext = {
    clock,
    tokenLimits: DEFAULT_LIMITS,
    call,
    mail: {
      address: null,
      sender: null,
      hookSecret: null,
      call,
      isPrinting: () => false,
      print() {},
    },
    isSending: true,
    isStarting: () => false,
    engine: { ...engine, ...parts },
    addressOf: () => null,
    mailboxOf: () => createMailbox(10),
    keepsMails: () => false,
  }
  const all = createHosts({
    store,
    open(through) {
      opened.push(through('test').name)
      return openHost(through, context)
    },
    sweepEvery: 20,
    ...options,
  })
  const rest = undo.move()
  return {
    all,
    hosts: all.at('test'),
    store,
    context,
    opened,
    clock,
    folder: folder.path,
    async [Symbol.asyncDispose]() {
      await all[Symbol.asyncDispose]()
      await engine[Symbol.asyncDispose]()
      rest.dispose()
    },
  }
}
