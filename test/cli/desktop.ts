import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { temporaryFolder } from '../setup'
import { until } from '../timing'

/** Puts a program in the place of those that open files on a desktop; it notes what it opens. */
export function fakeDesktop(then = 'exit 0') {
  const folder = temporaryFolder()
  const note = join(folder.path, 'opened')
  const script = `#!/bin/sh\n(echo "$1"; stat -c %a "$1"; cat "$1") > '${note}.part'\nmv '${note}.part' '${note}'\n${then}\n`
  for (const name of ['xdg-open', 'open']) {
    writeFileSync(join(folder.path, name), script)
    chmodSync(join(folder.path, name), 0o755)
  }
  const before = process.env['PATH']
  process.env['PATH'] = `${folder.path}:${before}`
  return {
    async opened(): Promise<readonly [path: string, html: string, mode: string]> {
      await until(() => existsSync(note))
      const [path = '', mode = '', ...html] = readFileSync(note, 'utf8').split('\n')
      return [path, html.join('\n'), mode]
    },
    [Symbol.dispose]() {
      process.env['PATH'] = before
      folder[Symbol.dispose]()
    },
  }
}
