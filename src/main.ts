import process from 'node:process'
import { runProgram } from './cli/program'
import { processTerminal } from './cli/terminal'
import { systemClock } from './clock'

async function main(): Promise<void> {
  // Files of this program are readable by its user only (design.md §2).
  process.umask(0o077)
  const cli = { terminal: processTerminal(), clock: systemClock }
  process.exitCode = await runProgram(process.argv.slice(2), cli)
}

void main()
