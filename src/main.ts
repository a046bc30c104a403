import process from 'node:process'
import type { Cli } from './cli/command'
import { readServeOptions, runServer } from './cli/serve'
import { processTerminal } from './cli/terminal'
import { systemClock } from './clock'

async function main(): Promise<void> {
  // Files of this program are readable by its user only (design.md §2).
  process.umask(0o077)
  const cli = { terminal: processTerminal(), clock: systemClock }
  process.exitCode = await run(process.argv.slice(2), cli)
  setTimeout(() => process.exit(), LEFT_BEHIND_MS).unref()
}

/** How long work that was left, as with a disk or a server that hangs, may keep the process, ms. */
const LEFT_BEHIND_MS = 500

/** The commands are loaded when they are needed: a server starts without them. */
async function run(args: readonly string[], cli: Cli): Promise<number> {
  const options = readServeOptions(args)
  if (options === undefined) return (await import('./cli/program')).runProgram(args, cli)
  try {
    await runServer(cli, options)
    return 0
  } catch (error) {
    return (await import('./cli/program')).explain(error, options.json === true, cli)
  }
}

void main()
