import { availableParallelism } from 'node:os'
import process from 'node:process'

/**
 * `bun run test`: builds, and runs the tests while lint, types and formats are checked at low
 * priority, in the time that tests wait. Arguments are those of `bun test`.
 */

/** How long each file took, so that the longest begin first; `bun run test --update-timings` measures anew. */
const TIMINGS = 'test/timings.json'

async function main(): Promise<number> {
  await step('build')
  await step('browser')
  const checks = ['lint', 'types', 'format:check'].map(check)
  const tests = await testAll()
  const failed = (await Promise.all(checks)).filter((name) => name !== undefined)
  if (failed.length > 0) process.stderr.write(`These failed: ${failed.join(', ')}\n`)
  return tests === 0 && failed.length > 0 ? 1 : tests
}

/** Runs a script of `package.json`; ends the run when it fails. */
async function step(name: string): Promise<void> {
  const child = Bun.spawn([process.execPath, 'run', name], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const exitCode = await child.exited
  if (exitCode !== 0) process.exit(exitCode)
}

/** Runs a script beside the tests and prints its output at its end. Resolves to its name if it fails. */
async function check(name: string): Promise<string | undefined> {
  const politely = Bun.which('nice') === null ? [] : ['nice', '-n', '19']
  const child = Bun.spawn([...politely, process.execPath, 'run', name], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [exitCode, ...output] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ])
  process.stderr.write(output.join(''))
  return exitCode === 0 ? undefined : name
}

async function testAll(): Promise<number> {
  // Many tests wait for others: one worker more than there are cores keeps all cores busy.
  const workers = availableParallelism() + 1
  const options = ['--timeout', '60000', '--no-isolate', `--parallel=${workers}`]
  const child = Bun.spawn(
    [process.execPath, 'test', ...options, `--timings=${TIMINGS}`, ...process.argv.slice(2)],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  )
  return await child.exited
}

process.exitCode = await main()
