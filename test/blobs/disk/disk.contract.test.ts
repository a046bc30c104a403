import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDiskBlobs } from '../../../src/blobs/disk/disk'
import { createTestClock } from '../../auth/setup'
import { describeBlobStore } from '../../contract/blob-store'
import { temporaryFolder } from '../../setup'
import { copyFolder } from '../../sqlite/folders'

describeBlobStore('Disk', async () => {
  const owned = new AsyncDisposableStack()
  const { path } = owned.use(temporaryFolder())
  const [live, crashed] = [join(path, 'live'), join(path, 'crashed')]
  const clock = createTestClock()
  const open = (folder: string) =>
    owned.use(createDiskBlobs(folder, { clock, isDurable: false, report: fail }))
  const store = open(live)
  return {
    store,
    clock,
    another: () => open(live),
    async reopen() {
      await store[Symbol.asyncDispose]()
      return open(live)
    },
    async crash() {
      copyFolder(live, crashed)
      return open(crashed)
    },
    async damage(place, how) {
      const file = join(live, place.slice(-2), place)
      const bytes = readFileSync(file)
      if (how === 'shorter') truncateSync(file, bytes.length - 1)
      else writeFileSync(file, bytes.fill('?', bytes.length - 1))
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
})

function fail(error: unknown): never {
  throw error
}
