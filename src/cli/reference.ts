import type { CommandUnknownOpts, Option } from '@commander-js/extra-typings'
import { join } from 'node:path'
import { createProgram, EXIT } from './program'
import { systemClock } from '../clock'
import { processTerminal } from './terminal'

/** `bun run docs` writes the reference of all commands, `docs/cli.md`, from the data of `--help`. */
export const REFERENCE_FILE = join(import.meta.dir, '..', '..', 'docs', 'cli.md')

/** The reference as Markdown: a section for each command, a part for each of its subcommands. */
export function commandReference(): string {
  const program = createProgram('', { terminal: processTerminal(), clock: systemClock }, () => {})
  const commands = program.commands.filter((command) => command.name() !== 'help')
  const rows = commands.map((command) => {
    const name = `satchel ${command.name()}`
    return [`[\`${name}\`](#${anchor(name)})`, markdown(sentence(command.description()))]
  })
  const parts = [
    INTRODUCTION,
    table(['command', 'purpose'], rows),
    COMMON,
    ...commands.map((command) => sectionOf(command, 'satchel', 2)),
  ]
  return `${parts.join('\n\n')}\n`
}

const INTRODUCTION = `# Commands

Each command with its usage, options and examples, as \`satchel <command> --help\` prints them.`

const COMMON = `## Common to all commands

Commands work with and without a running server: if one serves the data folder, it does the work.

| option | meaning |
|---|---|
| \`--data <folder>\` | the data folder (default: \`./data\`; without one, the folder of the one running server of the same user) |
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

/** The options of every command, which are explained once. */
const SHARED: ReadonlySet<string> = new Set(['data', 'config', 'db', 'json', 'help'])

function sectionOf(command: CommandUnknownOpts, parent: string, level: 2 | 3): string {
  const help = command.createHelp()
  const name = `${parent} ${command.name()}`
  const options = help.visibleOptions(command).filter((option) => !isShared(option, command))
  const args = help.visibleArguments(command)
  const subcommands = command.commands.filter((each) => each.name() !== 'help')
  const parts = [
    `${'#'.repeat(level)} ${name}`,
    `${markdown(sentence(command.description()))}.`,
    ...(subcommands.length > 0 ? [] : [`\`\`\`\n${usageOf(command, name)}\n\`\`\``]),
    ...(args.length === 0
      ? []
      : [
          table(
            ['argument', 'meaning'],
            args.map((argument) => [
              `\`${help.argumentTerm(argument)}\``,
              markdown(help.argumentDescription(argument)),
            ]),
          ),
        ]),
    ...(options.length === 0
      ? []
      : [
          table(
            ['option', 'meaning'],
            options.map((option) => [
              `\`${help.optionTerm(option)}\``,
              markdown(help.optionDescription(option)),
            ]),
          ),
        ]),
    ...notesOf(command),
    ...subcommands.map((each) => sectionOf(each, name, 3)),
  ]
  return parts.join('\n\n')
}

/** `--data` and the others mean something else where the command says so itself, as `serve` does. */
function isShared(option: Option, command: CommandUnknownOpts): boolean {
  return (
    SHARED.has(option.attributeName()) &&
    (command.name() !== 'serve' || option.attributeName() === 'help')
  )
}

function usageOf(command: CommandUnknownOpts, name: string): string {
  return `${name} ${command.usage()}`.trimEnd()
}

/** The texts after the options: paragraphs, and examples and lists under a heading. */
function notesOf(command: CommandUnknownOpts): string[] {
  const texts: string[] = []
  command.configureOutput({ writeOut: (text) => void texts.push(text) })
  command.outputHelp()
  const [, ...notes] = texts
  const blocks = notes
    .join('')
    .trim()
    .split(/\n{2,}|\n(?=[A-Z][\w ]*:\n)/)
  return blocks
    .map((block) => block.replace(/^\n+/, '').trimEnd())
    .filter((block) => block !== '')
    .map((block) => {
      const [, heading, list] = /^([A-Z][\w ]*:)\n([\s\S]+)$/.exec(block) ?? []
      if (heading === undefined || list === undefined) return markdown(block)
      const lines = list.replaceAll(/^ {2}(?:\$ )?/gm, '')
      return `${heading}\n\n\`\`\`\n${lines}\n\`\`\``
    })
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

function anchor(heading: string): string {
  return heading.replaceAll(' ', '-')
}

if (import.meta.main) await Bun.write(REFERENCE_FILE, commandReference())
