import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'

/**
 * `bun run test`: builds, and runs the tests while lint, types and formats are checked at low
 * priority, in the time that tests wait. Arguments are those of `bun test`.
 */

/** How long each file took, so that the longest begin first; `bun run test --update-timings` measures anew. */
const TIMINGS = 'test/timings.json'

const GIB = 2 ** 30
/** The files of all tests at one time are much smaller. */
const ROOM = 8 * GIB

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
  const folder = mkdtempSync(join(roomyFolder(), 'satchel-run-'))
  // Some tests run commands as another user.
  chmodSync(folder, 0o755)
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.on('exit', remove)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => process.exit(1))
  }
  const child = Bun.spawn(
    [process.execPath, 'test', ...options, `--timings=${TIMINGS}`, ...process.argv.slice(2)],
    { env: { ...process.env, TMPDIR: folder }, stdio: ['ignore', 'inherit', 'inherit'] },
  )
  return await child.exited
}

/** In memory where there is plenty: thousands of small databases would wait for the disk. */
function roomyFolder(): string {
  const memory = '/dev/shm'
  try {
    const { bavail, bsize } = statfsSync(memory)
    const isRoomy = bavail * bsize > ROOM && process.availableMemory() > 2 * ROOM
    return isRoomy ? memory : tmpdir()
  } catch {
    return tmpdir()
  }
}

process.exitCode = await main()
