import { allCommands, commandTree, type DescribedCommand } from './command-tree'

/** Placeholders of values that are completed as paths. */
const PATHS: ReadonlySet<string> = new Set(['file', 'path', 'target'])
const FOLDERS: ReadonlySet<string> = new Set(['folder'])

/** A script that completes commands and options in bash. */
export function bashCompletions(): string {
  const commands = allCommands(commandTree())
  const { files, folders, others } = valuePatterns(commands)
  return `# Completion of satchel for bash, made from its commands.

_satchel() {
  local cur=\${COMP_WORDS[COMP_CWORD]} at=satchel words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$at $word" in
      ${namePattern(commands)}) at="$at $word" ;;
    esac
  done
  COMPREPLY=()
  case "$at \${COMP_WORDS[COMP_CWORD-1]}" in
    ${files}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
    ${folders}) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
    ${others}) return ;;
  esac
  case "$at" in
${commands.map((command) => `    '${command.name}') words='${wordsOf(command).join(' ')}' ;;`).join('\n')}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -o default -F _satchel satchel
`
}

/** A script that completes commands and options, with their descriptions, in zsh. */
export function zshCompletions(): string {
  const commands = allCommands(commandTree())
  const { files, folders, others } = valuePatterns(commands)
  return `#compdef satchel
# Completion of satchel for zsh, made from its commands.

local at=satchel word
for word in "\${(@)words[2,CURRENT-1]}"; do
  case "$at $word" in
    (${namePattern(commands)}) at="$at $word" ;;
  esac
done
case "$at \${words[CURRENT-1]}" in
  (${files}) _files; return ;;
  (${folders}) _files -/; return ;;
  (${others}) _message value; return ;;
esac
local -a commands options
case $at in
${commands.map(zshCase).join('\n')}
esac
if [[ $PREFIX == -* ]]; then
  _describe option options
elif (( $#commands )); then
  _describe command commands
else
  _files
fi
`
}

function zshCase({ name, commands, options }: DescribedCommand): string {
  const rows = options.flatMap(({ names, description }) =>
    names.map((each) => zshRow(each, description)),
  )
  return `  ('${name}')
    commands=(${commands.map(({ word, description }) => zshRow(word, description)).join(' ')})
    options=(${rows.join(' ')}) ;;`
}

/** A word and its description in quotes. */
function zshRow(word: string, description: string): string {
  return `'${`${word}:${description}`.replaceAll("'", String.raw`'\''`)}'`
}

function wordsOf({ commands, options }: DescribedCommand): string[] {
  return [...commands.map(({ word }) => word), ...options.flatMap(({ names }) => names)]
}

/** The commands below others, as the alternatives of a `case`. */
function namePattern(commands: readonly DescribedCommand[]): string {
  return alternatives(commands.slice(1).map(({ name }) => name))
}

/** The options with a value behind their commands, as the alternatives of a `case`. */
function valuePatterns(commands: readonly DescribedCommand[]) {
  const all = commands.flatMap(({ name, options }) =>
    options.flatMap(({ names, value }) =>
      value === undefined ? [] : names.map((option) => ({ text: `${name} ${option}`, value })),
    ),
  )
  const of = (isMeant: (value: string) => boolean) =>
    alternatives(all.filter(({ value }) => isMeant(value)).map(({ text }) => text))
  return {
    files: of((value) => PATHS.has(value)),
    folders: of((value) => FOLDERS.has(value)),
    others: of((value) => !PATHS.has(value) && !FOLDERS.has(value)),
  }
}

function alternatives(texts: readonly string[]): string {
  return texts.map((text) => `'${text}'`).join('|')
}
