import { readConfig } from '../../src/config/config'
import { type DataFolder, takeDataFolder } from '../../src/host/data-folder'
import { createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'

/** A data folder of this process without a server, removed when it is disposed unless `path` is given. */
export async function setupDataFolder(path?: string): Promise<DataFolder> {
  await using stack = new AsyncDisposableStack()
  const data = path ?? stack.use(temporaryFolder()).path
  const config = readConfig({ environment: {}, flags: { data } })
  const folder = await takeDataFolder(config, createTestClock())
  if (folder === undefined) throw new Error(`${data} is locked`)
  stack.use(folder)
  const owned = stack.move()
  return { ...folder, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}
