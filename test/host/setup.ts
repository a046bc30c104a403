import { join } from 'node:path'
import { createDiskBlobs } from '../../src/blobs/disk/disk'
import { createDiskScratch } from '../../src/blobs/disk/scratch'
import { DEFAULT_LIMITS } from '../../src/auth/limits'
import { type HostContext, openHost } from '../../src/host/host'
import { createHosts, type HostsOptions } from '../../src/host/hosts'
import { createOutbound } from '../../src/net/outbound'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'

const call = createOutbound({ allowed: null })

/** Hosts in a folder of their own. */
export function setupHosts(options: Partial<HostsOptions> = {}, parts: Partial<HostContext> = {}) {
  using undo = new DisposableStack()
  const folder = undo.use(temporaryFolder())
  const clock = createTestClock()
  const opened: string[] = []
  const store = createSqliteStore(folder.path, { clock, durability: 'none' })
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
    secretKey: async () => new Uint8Array(32).fill(1),
    openBlobs: async ({ name }) =>
      createDiskBlobs(join(folder.path, 'databases', name, 'blobs'), {
        clock,
        isDurable: false,
        report() {},
      }),
    openScratch: async ({ name }) =>
      createDiskScratch(join(folder.path, 'databases', name, 'imports'), clock),
    addressOf: () => null,
    ...parts,
  }
  const hosts = createHosts({
    store,
    open(database) {
      opened.push(database.name)
      return openHost(database, context)
    },
    sweepEvery: 20,
    ...options,
  })
  const rest = undo.move()
  return {
    hosts,
    store,
    context,
    opened,
    clock,
    folder: folder.path,
    async [Symbol.asyncDispose]() {
      await hosts[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      rest.dispose()
    },
  }
}
