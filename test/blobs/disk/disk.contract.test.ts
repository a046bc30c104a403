import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDiskBlobs } from '../../../src/blobs/disk/disk'
import { describeBlobStore } from '../../contract/blob-store'
import type { BlobStoreFixture } from '../../contract/content-fixture'
import { temporaryFolder } from '../../setup'
import { copyFolder } from '../../sqlite/folders'

describeBlobStore('Disk', async () => {
  const owned = new AsyncDisposableStack()
  const { path } = owned.use(temporaryFolder())
  const [live, crashed] = [join(path, 'live'), join(path, 'crashed')]
  const records = new Set<string>()
  async function isUsed(file: string): Promise<boolean> {
    await fixture.onLook()
    return records.has(file)
  }
  const open = async (folder: string) =>
    owned.use(await openDiskBlobs(folder, { isDurable: false, isUsed, report: fail }))
  const store = await open(live)
  const fixture: BlobStoreFixture = {
    store,
    records,
    onLook: async () => undefined,
    async reopen() {
      await store[Symbol.asyncDispose]()
      return open(live)
    },
    async crash() {
      copyFolder(live, crashed)
      return open(crashed)
    },
    async damage(file, how) {
      const path = join(live, file)
      const bytes = readFileSync(path)
      if (how === 'shorter') truncateSync(path, bytes.length - 1)
      else writeFileSync(path, bytes.fill('?', bytes.length - 1))
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
  return fixture
})

function fail(error: unknown): never {
  throw error
}
