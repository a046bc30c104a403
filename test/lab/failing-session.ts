import { cpSync } from 'node:fs'
import { SatchelError } from '../../src/domain/value/error'
import { copyOf, type Refusal, runSession } from './failing-calls'

// A process of its own, of whose system calls one fails: prints each refusal, and keeps what is on the disk then.
const [folder = ''] = process.argv.slice(2)
let refusals = 0
try {
  await runSession(folder, (acknowledged, error) => {
    cpSync(folder, copyOf(folder, refusals), { recursive: true })
    refusals += 1
    const reason = error instanceof SatchelError ? error.code : String(error)
    process.stdout.write(`${JSON.stringify({ acknowledged, reason } satisfies Refusal)}\n`)
  })
} catch {
  // Refused a second time, which was printed.
}
// In order, so that the calls are counted.
process.exit(0)
