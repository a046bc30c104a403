import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { expect, test } from 'bun:test'
import { temporaryFolder } from '../setup'

const ROOT = join(import.meta.dir, '..', '..')
const SOURCES = [
  'src',
  'migrations',
  'docs',
  'README.md',
  'LICENSE',
  'build.ts',
  'package.json',
  'bun.lock',
  'tsconfig.json',
]

test('the same sources give the same executable in any folder and time zone', async () => {
  using folder = temporaryFolder()
  const first = await buildIn(join(folder.path, 'one'), 'Asia/Tokyo')
  const second = await buildIn(join(folder.path, 'another', 'deeper'), 'America/Lima')
  expect(second).toBe(first)
}, 120_000)

/** The SHA-256 of an executable that is built from a copy of the sources. */
async function buildIn(folder: string, timeZone: string): Promise<string> {
  mkdirSync(folder, { recursive: true })
  for (const name of SOURCES) cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  // Of packages behind a link the way there would be in the executable.
  await run(folder, timeZone, 'install', '--frozen-lockfile')
  await run(folder, timeZone, 'build.ts', '--reproducible')
  const executable = Bun.file(join(folder, 'dist', 'satchel'))
  const hasher = new Bun.CryptoHasher('sha256')
  for await (const piece of executable.stream()) hasher.update(piece)
  return hasher.digest('hex')
}

async function run(cwd: string, timeZone: string, ...args: readonly string[]): Promise<void> {
  const child = Bun.spawn([process.execPath, ...args], {
    cwd,
    env: { ...process.env, TZ: timeZone },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [exitCode, output, errors] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ])
  expect({ exitCode, output, errors }).toMatchObject({ exitCode: 0 })
}
