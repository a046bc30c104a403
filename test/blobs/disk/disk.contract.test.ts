import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDiskBlobs } from '../../../src/blobs/disk/disk'
import { describeBlobStore } from '../../contract/blob-store'
import { temporaryFolder } from '../../setup'
import { copyFolder } from '../../sqlite/folders'

describeBlobStore('Disk', async () => {
  const owned = new AsyncDisposableStack()
  const { path } = owned.use(temporaryFolder())
  const [live, crashed] = [join(path, 'live'), join(path, 'crashed')]
  const open = (folder: string) =>
    owned.use(createDiskBlobs(folder, { isDurable: false, report: fail }))
  const store = open(live)
  return {
    store,
    async reopen() {
      await store[Symbol.asyncDispose]()
      return open(live)
    },
    async crash() {
      copyFolder(live, crashed)
      return open(crashed)
    },
    async damage(hash, how) {
      const file = join(live, hash.slice(0, 2), hash.slice(2))
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
