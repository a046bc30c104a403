import { describe, expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bashCompletions, zshCompletions } from '../../src/packaging/completions'
import { temporaryFolder } from '../setup'

/** Words of a command line, the last one unfinished, and some of the words that complete it. */
const LINES: readonly (readonly [
  words: readonly string[],
  offered: readonly string[],
  not: readonly string[],
])[] = [
  [['satchel', ''], ['serve', 'db', 'audit'], ['create']],
  [['satchel', 'db', ''], ['create', 'delete'], ['serve']],
  [['satchel', 'db', 'create', '--'], ['--data', '--json'], ['--public-url']],
  [['satchel', 'serve', '--public'], ['--public-url'], ['--data']],
  // A value that is also the name of a command.
  [['satchel', 'user', 'list', '--db', 'list', '--'], ['--search'], ['--email']],
  [
    ['satchel', 'serve', '--config', ''],
    ['satchel.json', 'folder'],
    ['serve', '--json'],
  ],
  [['satchel', 'serve', '--data', ''], ['folder'], ['satchel.json', '--json']],
  [['satchel', 'serve', '--port', ''], [], ['satchel.json', '--json']],
]

const bash = Bun.which('bash')

describe.skipIf(bash === null)('Completions for bash (needs bash: apt-get install bash)', () => {
  for (const [words, offered, not] of LINES) {
    test(`complete ${words.join(' ')}`, async () => {
      const found = await completed(
        ['bash', '--norc', '-c'],
        `complete() { :; }; compopt() { :; }; source ./completions
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _satchel; printf '%s\\n' "\${COMPREPLY[@]}"`,
        words,
        bashCompletions(),
      )
      expect(found).toEqual(expect.arrayContaining([...offered]))
      expect(found.filter((word) => not.includes(word))).toEqual([])
    })
  }
})

const zsh = Bun.which('zsh')

describe.skipIf(zsh === null)('Completions for zsh (needs zsh: apt-get install zsh)', () => {
  for (const [words, offered, not] of LINES) {
    test(`complete ${words.join(' ')}`, async () => {
      const found = await completed(
        ['zsh', '-f', '-c'],
        `_describe() { for each in "\${(@P)2}"; do [[ $each == $PREFIX* ]] && print -r -- "\${each%%:*}"; done }
        _files() { [[ $1 == -/ ]] && print -l -- *(/) || print -l -- * }
        _message() { : }
        complete() { local -a words=("$@"); local CURRENT=$# PREFIX=$words[-1]; source ./completions }
        complete "$@"`,
        words,
        zshCompletions(),
      )
      expect(found).toEqual(expect.arrayContaining([...offered]))
      expect(found.filter((word) => not.includes(word))).toEqual([])
    })
  }
})

/** The lines that `program` prints in a folder with a file, a folder and the completions. */
async function completed(
  shell: readonly string[],
  program: string,
  words: readonly string[],
  completions: string,
): Promise<string[]> {
  using folder = temporaryFolder()
  mkdirSync(join(folder.path, 'folder'))
  writeFileSync(join(folder.path, 'satchel.json'), '{}')
  writeFileSync(join(folder.path, 'completions'), completions)
  const child = Bun.spawn([...shell, program, 'test', ...words], {
    cwd: folder.path,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [output, errors] = await Promise.all([child.stdout.text(), child.stderr.text()])
  expect(errors).toBe('')
  return output.split('\n').filter((line) => line !== '')
}
