import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock } from '../auth/setup'
import { runSession } from './failing-calls'

// A process of its own, whose system calls fail: prints each acknowledged step.
const [folder = ''] = process.argv.slice(2)
const store = createSqliteStore(folder, { clock: createTestClock(), durability: 'full' })
try {
  await runSession(await store.open('main'), (step) => process.stdout.write(`${step}\n`))
} catch {
  // The step was refused, or the database did not open.
}
try {
  await store[Symbol.asyncDispose]()
} catch {
  // So was its end.
}
// In order, so that the calls are counted.
process.exit(0)
