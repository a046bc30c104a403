import { EXIT } from '../cli/program'
import { environmentName, type Setting, SETTINGS } from '../config/settings'
import { allCommands, commandTree, type DescribedCommand } from './command-tree'

/** The manual page `satchel(1)` in the language of man, from the commands and the settings. `time` is in seconds. */
export function manualPage(version: string, time: number): string {
  const program = commandTree()
  const date = new Date(time * 1000).toISOString().slice(0, 10)
  return [
    `.TH SATCHEL 1 "${date}" "Satchel ${escape(version)}" "User Commands"`,
    '.SH NAME',
    'satchel \\- backend for local\\-first applications',
    '.SH SYNOPSIS',
    '.B satchel',
    escape('<command> [options]'),
    '.SH DESCRIPTION',
    paragraph(program.description),
    '.PP',
    paragraph(
      'Commands work with and without a running server: if one serves the data folder, it does the work.',
    ),
    '.SH COMMANDS',
    ...program.commands.flatMap(allCommands).filter(isComplete).flatMap(commandLines),
    '.SH SETTINGS',
    paragraph(
      'Each setting is a key of the settings file, which may have comments, and a variable of the environment. Most are also options of satchel serve. Options win, then the environment.',
    ),
    ...Object.entries<Setting<unknown>>(SETTINGS).flatMap(([name, { help }]) =>
      item(`${name}, ${environmentName(name)}`, help),
    ),
    '.SH FILES',
    ...FILES.flatMap(([path, meaning]) => item(path, meaning)),
    '.SH EXIT STATUS',
    ...STATUSES.flatMap(([code, meaning]) => item(String(code), meaning)),
    '.SH SEE ALSO',
    paragraph('The guides are in the server itself, at /docs.'),
    '',
  ].join('\n')
}

const FILES = [
  ['/etc/satchel/satchel.json', 'the settings of the service'],
  ['/etc/satchel/environment', 'the secrets of the service, as variables of the environment'],
  ['/var/lib/satchel', 'the data of the service'],
  ['/var/backups/satchel', 'a folder for backups that the service may write'],
] as const

const STATUSES = [
  [EXIT.done, 'The command is done.'],
  [EXIT.failed, 'It failed or was refused, or the check found problems.'],
  [EXIT.misused, 'The command line or a setting is wrong; nothing was done.'],
  [EXIT.interrupted, 'Ctrl-C ended it.'],
] as const

/** False for a word that only leads to other commands. */
function isComplete({ commands, usage }: DescribedCommand): boolean {
  return commands.length === 0 || !usage.includes('[command]')
}

function commandLines({ name, usage, description, options }: DescribedCommand): string[] {
  return [
    `.SS ${escape(`${name} ${usage}`)}`,
    paragraph(description),
    ...options.flatMap((option) => item(option.flags, option.description)),
  ]
}

function item(term: string, text: string): string[] {
  return ['.TP', `.B ${escape(term)}`, escape(text)]
}

function paragraph(text: string): string {
  return escape(text.charAt(0).toUpperCase() + text.slice(1))
}

/** Text in which nothing is a request of the language: hyphens stay those of the keyboard, to be copied. */
function escape(text: string): string {
  return text
    .replaceAll('\\', '\\(rs')
    .replaceAll('-', '\\-')
    .replaceAll('"', '\\(dq')
    .replaceAll('…', '...')
    .replace(/^(?=['.])/, '\\&')
}
