import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock } from '../auth/setup'
import { describeStore } from '../contract/store'
import { underTest } from '../missing'
import { temporaryFolder } from '../setup'
import { copyFolder } from './folders'

describeStore('SQLite', async () => {
  const owned = new AsyncDisposableStack()
  const { path } = owned.use(temporaryFolder())
  const [live, crashed] = [join(path, 'live'), join(path, 'crashed')]
  const clock = createTestClock()
  const open = (folder: string) =>
    underTest(owned.use(createSqliteStore(folder, { clock, durability: 'none' })))
  mkdirSync(live)
  const store = open(live)
  return {
    store,
    clock,
    another: async () => store,
    async reopen() {
      await store[Symbol.asyncDispose]()
      return open(live)
    },
    async crash() {
      copyFolder(live, crashed)
      return open(crashed)
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
})
