import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'

/**
 * `bun run test`: builds, and runs the tests while lint, types and formats are checked at low
 * priority, in the time that tests wait. Arguments are those of `bun test`.
 */

/** A run in which more files fail is broken; fewer are run again, to tell a fault from a chance. */
const MOST_REPEATED = 3
/** A test that fails by chance once in three runs would otherwise often fail again. */
const MOST_REPETITIONS = 2

/** The slowest tests, which a run names at its end. */
const MOST_SLOW = 10

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
  const folder = mkdtempSync(join(roomyFolder(), 'satchel-run-'))
  // Some tests run commands as another user.
  chmodSync(folder, 0o755)
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.on('exit', remove)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => process.exit(1))
  }
  // Many tests wait for others: two workers more than there are cores keep all cores busy.
  const workers = availableParallelism() + 2
  const options = ['--no-isolate', `--parallel=${workers}`, `--timings=${TIMINGS}`]
  const first = await runTests(folder, [...options, ...process.argv.slice(2)])
  return first.exitCode === 0 ? 0 : await repeat(folder, first)
}

interface Run {
  exitCode: number
  passed: number
  /** Files with a failed test, and the names of these tests. */
  files: string[]
  names: string[]
  /** False when something failed that belongs to no test, such as a file that cannot be imported. */
  isComplete: boolean
}

/**
 * Runs the files of failed tests again, alone. Tests that pass then are named, so that somebody mends
 * them, and do not fail the run: the change that is tested is not their cause.
 */
async function repeat(folder: string, first: Run): Promise<number> {
  const { files, names, isComplete } = first
  if (!isComplete || files.length > MOST_REPEATED) return first.exitCode
  const flags = process.argv.slice(2).filter((argument) => argument.startsWith('-'))
  let again = first
  for (let n = 0; n < MOST_REPETITIONS && again.exitCode !== 0; n += 1) {
    process.stderr.write(`\nAgain, alone: ${files.join(' ')}\n`)
    again = await runTests(folder, [...files, ...flags])
  }
  const failed = again.exitCode === 0 ? 0 : names.length
  if (failed === 0) process.stderr.write(`\nUnstable, passed only alone: ${names.join('; ')}\n`)
  process.stderr.write(`\n ${first.passed + names.length - failed} pass\n ${failed} fail\n`)
  return again.exitCode
}

async function runTests(folder: string, args: readonly string[]): Promise<Run> {
  const outfile = join(folder, 'report.xml')
  rmSync(outfile, { force: true })
  const reporter = ['--reporter=junit', `--reporter-outfile=${outfile}`]
  const child = Bun.spawn([process.execPath, 'test', '--timeout', '180000', ...reporter, ...args], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  let tail = ''
  for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
    process.stderr.write(text)
    tail = (tail + text).slice(-1000)
  }
  const exitCode = await child.exited
  const report = existsSync(outfile) ? readFileSync(outfile, 'utf8') : ''
  const cases = [
    ...report.matchAll(/<testcase name="([^"]*)"[^>]* file="([^"]*)"[^>]*>\s*<failure/g),
  ]
  printSlowest(report)
  const failed = count(tail, 'fail')
  return {
    exitCode,
    passed: count(tail, 'pass'),
    files: [...new Set(cases.map(([, , file]) => file ?? ''))],
    names: cases.map(([, name]) => name ?? ''),
    isComplete: failed === cases.length && failed > 0 && count(tail, 'error') === 0,
  }
}

/** The tests that took longest, with their seconds: a run can be no shorter than the first of them. */
function printSlowest(report: string): void {
  const times = [...report.matchAll(/<testcase name="([^"]*)"[^>]* time="([^"]*)" file="([^"]*)"/g)]
    .map(([, name, time, file]) => ({
      seconds: Math.round(Number(time)),
      test: `${file}: ${name}`,
    }))
    .toSorted((one, other) => other.seconds - one.seconds)
    .slice(0, MOST_SLOW)
  const lines = times.map(({ seconds, test }) => `${String(seconds).padStart(5)} s  ${test}\n`)
  process.stderr.write(`\nThe slowest tests:\n${lines.join('')}`)
}

/** A number of the summary, such as ` 321 pass`; 0 when it is not there. */
function count(summary: string, word: string): number {
  const lines = [...Bun.stripANSI(summary).matchAll(new RegExp(`^ *(\\d+) ${word}s?$`, 'gm'))]
  return Number(lines.at(-1)?.[1] ?? 0)
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
