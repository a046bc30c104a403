import { describe, expect, test } from 'bun:test'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../../package.json'
import { debianVersion, makeDeb, makeDebs } from '../../src/packaging/deb'
import { temporaryFolder } from '../setup'

describe.skipIf(Bun.which('dpkg-deb') === null)(
  'A package for Debian (needs dpkg-deb: apt-get install dpkg)',
  () => {
    test('belongs to root, keeps secrets from others, and has no conffile but the settings', async () => {
      using folder = temporaryFolder()
      const deb = await make(folder.path)
      const lines = (await output('dpkg-deb', '--contents', deb)).trim().split('\n')
      const entries = lines.map((line) => line.split(/\s+/))
      expect(new Set(entries.map(([, owner]) => owner))).toEqual(new Set(['root/root']))
      const modeOf = (path: string) => entries.find((entry) => entry.at(-1) === `./${path}`)?.[0]
      expect(modeOf('usr/bin/satchel')).toBe('-rwxr-xr-x')
      expect(modeOf('etc/satchel/environment')).toBe('-rw-r-----')
      expect(modeOf('etc/satchel/satchel.json')).toBe('-rw-r--r--')
      expect(modeOf('etc/')).toBe('drwxr-xr-x')
      const paths = entries.map((entry) => entry.at(-1))
      expect(paths.filter((path) => path?.includes('var'))).toEqual([])
      expect(await output('dpkg-deb', '--info', deb, 'conffiles')).toBe(
        '/etc/satchel/environment\n/etc/satchel/satchel.json\n',
      )
      expect(await output('dpkg-deb', '--field', deb, 'Version', 'Architecture')).toBe(
        `Version: ${version}\nArchitecture: arm64\n`,
      )
    })

    test('has the same bytes in any folder and at any time', async () => {
      using folder = temporaryFolder()
      const [one, other] = [join(folder.path, 'one'), join(folder.path, 'other', 'deeper')]
      const first = await make(one)
      await Bun.sleep(1_100)
      const mask = process.umask(0o077)
      const second = await make(other).finally(() => process.umask(mask))
      expect(await Bun.file(second).bytes()).toEqual(await Bun.file(first).bytes())
    })

    test('names all its files in its sums', async () => {
      using folder = temporaryFolder()
      const deb = await make(folder.path)
      const root = join(folder.path, 'root')
      await output('dpkg-deb', '--extract', deb, root)
      const sums = await output('dpkg-deb', '--info', deb, 'md5sums')
      await Bun.write(join(folder.path, 'sums'), sums)
      const child = Bun.spawn(['md5sum', '--check', '--quiet', join(folder.path, 'sums')], {
        cwd: root,
      })
      expect(await child.exited).toBe(0)
      expect(sums).toContain('  usr/bin/satchel\n')
    })
  },
)

test('A version before a release is older than it for Debian', () => {
  expect(debianVersion('0.2.0-beta.1')).toBe('0.2.0~beta.1')
})

test('A package for an unknown processor is refused', async () => {
  const refusal = await makeDebs(['riscv64']).catch((error: unknown) => String(error))
  expect(refusal).toContain('Debian has no package for riscv64: there are amd64, arm64')
})

/** A package with a small executable. */
async function make(into: string): Promise<string> {
  mkdirSync(into, { recursive: true })
  const executable = join(into, 'executable')
  writeFileSync(executable, '#!/bin/sh\n', { mode: 0o755 })
  // As `bun build.ts` does, and other tests do not.
  const mask = process.umask(0o022)
  using _ = { [Symbol.dispose]: () => void process.umask(mask) }
  return await makeDeb({ executable, architecture: 'arm64', into, compression: 'none' })
}

async function output(...command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], { stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [text, errors, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ])
  expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' })
  return text
}
