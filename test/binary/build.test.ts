import { cpSync, mkdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
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
  const [one, another] = [join(folder.path, 'one'), join(folder.path, 'another', 'deeper')]
  for (const name of SOURCES) cpSync(join(ROOT, name), join(one, name), { recursive: true })
  // Of packages behind a link the way there would be in the executable.
  await run(one, 'Asia/Tokyo', 'install', '--frozen-lockfile')
  const first = await buildIn(one, 'Asia/Tokyo')
  mkdirSync(dirname(another))
  renameSync(one, another)
  expect(await buildIn(another, 'America/Lima')).toBe(first)
})

/** The SHA-256 of the executable that is built in a folder. */
async function buildIn(folder: string, timeZone: string): Promise<string> {
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
