import type { CommandUnknownOpts } from '@commander-js/extra-typings'
import { join } from 'node:path'
import { createProgram, EXIT } from './program'
import { systemClock } from '../clock'
import { processTerminal } from './terminal'

/** `bun run docs` writes the reference of all commands, `docs/cli.md`, from the data of `--help`. */
export const REFERENCE_FILE = join(import.meta.dir, '..', '..', 'docs', 'cli.md')

/** The reference as Markdown: a line for each command, in the order of the help. */
export function commandReference(): string {
  const rows = linesOf(wholeProgram(), 'satchel')
  return `${[INTRODUCTION, table(['command', 'effect'], rows), COMMON].join('\n\n')}\n`
}

/** The program with all its commands, to be described. */
export function wholeProgram(): CommandUnknownOpts {
  return createProgram('', { terminal: processTerminal(), clock: systemClock }, () => {})
}

const INTRODUCTION = `# Commands

\`satchel <command> --help\` prints the options of a command with examples. \`satchel serve --help\` has all settings, as
has [Run Satchel as a service](operations.md#settings).`

const COMMON = `## Common to all commands

Commands work with and without a running server: if one serves the data folder, it does the work.

| option | meaning |
|---|---|
| \`--data <folder>\` | the data folder (default: \`./data\`; without one, for root the folder of the service in \`/etc/satchel/satchel.json\`, or else that of the one running server of the same user) |
| \`--config <file>\` | read settings from this JSON file |
| \`--db <name>\` | the database, in commands that work on one (default: \`main\`) |
| \`--json\` | print JSON for programs |
| \`-h, --help\` | print the help of a command |

Results go to standard output, notes and errors to standard error. Colours are used at a terminal; \`NO_COLOR=1\` turns
them off, \`FORCE_COLOR=1\` turns them on elsewhere. Tables are fitted to the width of the terminal: empty columns are
omitted, long names cut, and other cells wrapped. In pipes and with \`--json\` they are complete.

With \`--json\` a command prints one JSON object in one line. Lists are in its property \`data\`. Times are RFC 3339 in UTC
with milliseconds, such as \`"2030-01-31T12:00:00.000Z"\`; names of durations end in their unit. An error is one line on
standard error: \`{"error":{"code":"UNKNOWN_CLIENT","message":"…"}}\`.

| exit code | meaning |
|---|---|
| ${EXIT.done} | the command is done |
| ${EXIT.failed} | it failed or was refused, or the check found problems; the error says why |
| ${EXIT.misused} | the command line or a setting is wrong; nothing was done |
| ${EXIT.interrupted} | Ctrl-C ended it; the message says what it has done |`

/** A row for each command below `parent`, which is called `path`: how to write it, and its effect. */
function linesOf(parent: CommandUnknownOpts, path: string): string[][] {
  const commands = parent.commands.filter((command) => command.name() !== 'help')
  return commands.flatMap((command) => {
    const name = `${path} ${command.name()}`
    const below = linesOf(command, name)
    if (below.length > 0 && !isCommand(command)) return below
    const words = command.usage().replace('[options]', '').replace('[command]', '').trim()
    const usage = `${name} ${words}`.trimEnd()
    return [[`\`${usage}\``, markdown(sentence(command.description()))], ...below]
  })
}

/** False for a word that only groups the commands below it. */
function isCommand({ registeredArguments, options }: CommandUnknownOpts): boolean {
  return registeredArguments.length > 0 || options.length > 0
}

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, headings.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.map(cell).join(' | ')} |`).join('\n')
}

function cell(text: string): string {
  return text.replaceAll('|', String.raw`\|`)
}

/** Text of the help, in which nothing is markup. */
function markdown(text: string): string {
  return text.replaceAll(/[<*_`{]/g, String.raw`\$&`)
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

if (import.meta.main) await Bun.write(REFERENCE_FILE, commandReference())
