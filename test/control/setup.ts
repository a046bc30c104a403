import { readConfig } from '../../src/config/config'
import type { Workspace } from '../../src/host/workspace'
import { takeDataFolder } from '../../src/host/data-folder'
import { createTestClock, type TestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'

export interface TestWorkspace extends Workspace, AsyncDisposable {
  readonly path: string
  readonly clock: TestClock
}

/** A data folder of our own, without a server. */
export function setupWorkspace(path?: string): TestWorkspace {
  using undo = new DisposableStack()
  const data = path ?? undo.use(temporaryFolder()).path
  const clock = createTestClock()
  const folder = takeDataFolder(readConfig({ environment: {}, flags: { data } }), clock)
  if (folder === undefined) throw new Error(`${data} is taken`)
  const parts = undo.move()
  return {
    ...folder,
    clock,
    url: () => null,
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]()
      parts.dispose()
    },
  }
}
