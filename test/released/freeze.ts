import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import process from 'node:process'
import { migrations } from '../../migrations/sqlite/index'
import { version as current } from '../../package.json'
import { hashOf, RELEASED, RELEASES_FILE } from './releases'

const usage = `bun test/released/freeze.ts <version>

Freezes the format of the data as that of a version, once and for all: writes the version wherever it stands, the hashes
of the migrations, which are not edited any more from then on, and a data folder that this version has made, from which
every later version is tested. Commit what it changes.
`

const ROOT = join(import.meta.dir, '..', '..')

/** The files in which the version of this program stands. */
const NAMING = ['package.json', 'CHANGELOG.md', 'docs/*.md', 'build.ts']

async function main(version: string | undefined): Promise<number> {
  if (version === undefined || !/^\d+\.\d+\.\d+$/.test(version)) return fail(usage)
  if (RELEASED.some((release) => release.version === version)) {
    return fail(`Version ${version} is frozen already\n`)
  }
  for (const glob of NAMING) {
    for (const path of new Bun.Glob(glob).scanSync({ cwd: ROOT })) rename(join(ROOT, path), version)
  }
  const release = { version, hashes: migrations.map(hashOf) }
  writeFileSync(RELEASES_FILE, `${JSON.stringify([...RELEASED, release], null, 2)}\n`)
  // A process of its own has the new version.
  return run('run', 'format') || run(join(import.meta.dir, 'write-archive.ts'))
}

function run(...words: readonly string[]): number {
  const { exitCode } = Bun.spawnSync([process.execPath, ...words], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return exitCode
}

function rename(file: string, version: string): void {
  const text = readFileSync(file, 'utf8')
  const changed = text.replaceAll(CURRENT, version)
  if (changed === text) return
  writeFileSync(file, changed)
  process.stdout.write(`Changed ${relative(ROOT, file)}\n`)
}

/** The version of this program, also in names such as `v0.1.0` and `satchel_0.1.0_amd64.deb`. */
const CURRENT = new RegExp(`(?<![\\d.])${RegExp.escape(current)}(?![\\d])`, 'g')

function fail(words: string): number {
  process.stderr.write(words)
  return 1
}

process.exitCode = await main(process.argv[2])
