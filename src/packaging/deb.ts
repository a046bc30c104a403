import { chmod, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import process from 'node:process'
import { gzipSync } from 'node:zlib'
import { version } from '../../package.json'
import { commitTime } from './commit'
import { compileReproducibly } from './compile'
import { bashCompletions, zshCompletions } from './completions'
import { DIST, ROOT } from './folders'
import { manualPage } from './manual'
import { thirdPartyNotices } from './notices'
import { type Platform, PLATFORMS } from './platforms'

/** The names that Debian has for processors, each with the executable for it. */
const ARCHITECTURES = { amd64: 'linux-x64', arm64: 'linux-arm64' } as const satisfies Readonly<
  Record<string, Platform>
>

export type Architecture = keyof typeof ARCHITECTURES

/** Packages for Debian in `dist/deb`, for the named processors or for all. Throws where dpkg-deb is missing. */
export async function makeDebs(names: readonly string[] = []): Promise<void> {
  const root = join(DIST, 'deb')
  for (const architecture of findArchitectures(names)) {
    const executable = join(root, ARCHITECTURES[architecture], 'satchel')
    await compileReproducibly(executable, PLATFORMS[ARCHITECTURES[architecture]].target)
    await makeDeb({ executable, architecture, into: root })
  }
}

/** The packages of the executables that there are. */
export async function makeDebsOf(
  executables: ReadonlyMap<Platform, string>,
  into: string,
): Promise<void> {
  for (const architecture of findArchitectures([])) {
    const executable = executables.get(ARCHITECTURES[architecture])
    if (executable !== undefined) await makeDeb({ executable, architecture, into })
  }
}

function findArchitectures(names: readonly string[]): readonly Architecture[] {
  const all = Object.keys(ARCHITECTURES) as Architecture[]
  const unknown = names.find((name) => !Object.hasOwn(ARCHITECTURES, name))
  if (unknown !== undefined) {
    throw new Error(`Debian has no package for ${unknown}: there are ${all.join(', ')}`)
  }
  return names.length === 0 ? all : (names as readonly Architecture[])
}

/** An executable and the package that it comes into. */
interface DebParts {
  readonly executable: string
  readonly architecture: Architecture
  /** The folder in which the package is made. */
  readonly into: string
  /** Tests have no time for xz. */
  readonly compression?: 'xz' | 'none'
}

/** Makes a package; the same executable gives the same bytes. Returns its path. */
export async function makeDeb({
  executable,
  architecture,
  into,
  compression = 'xz',
}: DebParts): Promise<string> {
  if (Bun.which('dpkg-deb') === null) {
    throw new Error('Packages for Debian need dpkg-deb: apt-get install dpkg, or brew install dpkg')
  }
  const time = await commitTime()
  const tree = join(into, `${architecture}.tree`)
  await rm(tree, { recursive: true, force: true })
  try {
    await mkdir(join(tree, 'usr', 'bin'), { recursive: true })
    await link(executable, join(tree, 'usr', 'bin', 'satchel'))
    await chmod(executable, 0o755)
    const sizes = [Bun.file(executable).size]
    const sums = [await md5Line(executable, 'usr/bin/satchel')]
    for (const [path, { content, mode = 0o644 }] of Object.entries(await files(time))) {
      await install(join(tree, path), content, mode)
      sizes.push(content.length)
      sums.push(await md5Line(join(tree, path), path))
    }
    const kibibytes = Math.ceil(sizes.reduce((sum, size) => sum + Math.max(size, 1), 0) / 1024)
    for (const script of ['postinst', 'prerm', 'postrm']) {
      await install(join(tree, 'DEBIAN', script), await own(script), 0o755)
    }
    await install(join(tree, 'DEBIAN', 'control'), text(control(architecture, kibibytes)), 0o644)
    await install(join(tree, 'DEBIAN', 'conffiles'), text(CONFFILES), 0o644)
    await install(join(tree, 'DEBIAN', 'md5sums'), text(sums.toSorted().join('')), 0o644)
    const deb = join(into, `satchel_${debianVersion(version)}_${architecture}.deb`)
    await build(tree, deb, time, compression)
    process.stdout.write(`Made ${relative(process.cwd(), deb)}\n`)
    return deb
  } finally {
    await rm(tree, { recursive: true, force: true })
  }
}

/** One thread: with several, xz writes other bytes. */
async function build(tree: string, deb: string, time: number, compression: string): Promise<void> {
  const options = ['--root-owner-group', '--threads-max=1', `-Z${compression}`]
  const child = Bun.spawn(['dpkg-deb', ...options, '--build', tree, deb], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(time) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if ((await child.exited) !== 0) throw new Error(`dpkg-deb could not make ${deb}`)
}

interface PackagedFile {
  readonly content: Uint8Array
  readonly mode?: number
}

/** Everything but the executable, by its path. */
async function files(time: number): Promise<Readonly<Record<string, PackagedFile>>> {
  const documents = 'usr/share/doc/satchel'
  return {
    'etc/satchel/satchel.json': { content: await own('satchel.json') },
    // The group can read it when the package is configured, and with it exists.
    'etc/satchel/environment': { content: await own('environment'), mode: 0o640 },
    'usr/lib/systemd/system/satchel.service': { content: await own('satchel.service') },
    'usr/lib/sysusers.d/satchel.conf': { content: await own('sysusers.conf') },
    'usr/share/man/man1/satchel.1.gz': { content: zipped(manualPage(version, time)) },
    'usr/share/bash-completion/completions/satchel': { content: text(bashCompletions()) },
    'usr/share/zsh/vendor-completions/_satchel': { content: text(zshCompletions()) },
    'usr/share/lintian/overrides/satchel': { content: await own('lintian-overrides') },
    [`${documents}/copyright`]: { content: await own('copyright') },
    [`${documents}/third-party-notices.txt.gz`]: { content: zipped(await thirdPartyNotices()) },
    [`${documents}/changelog.gz`]: { content: zipped(changelog(time)) },
    [`${documents}/CHANGELOG.md.gz`]: {
      content: zipped(await readFile(join(ROOT, 'CHANGELOG.md'))),
    },
  }
}

const CONFFILES = '/etc/satchel/environment\n/etc/satchel/satchel.json\n'

const MAINTAINER = 'The authors of Satchel <maintainers@satchel.invalid>'

function control(architecture: Architecture, kibibytes: number): string {
  return `Package: satchel
Version: ${debianVersion(version)}
Architecture: ${architecture}
Maintainer: ${MAINTAINER}
Installed-Size: ${kibibytes}
Depends: init-system-helpers (>= 1.54~), libc6 (>= 2.31), systemd | systemd-standalone-sysusers | systemd-sysusers
Recommends: ca-certificates
Section: database
Priority: optional
Description: backend for local-first applications
 Satchel serves the databases of local-first applications: devices sync with
 it, users log in, share objects and transfer files. It speaks the interface
 of Dexie Cloud, and keeps everything in SQLite files and a folder of blobs.
`
}

/** The form that Debian prescribes. The changes themselves are in CHANGELOG.md. */
function changelog(time: number): string {
  const date = new Date(time * 1000).toUTCString().replace('GMT', '+0000')
  return `satchel (${debianVersion(version)}) stable; urgency=medium

  * Release ${version}. Its changes are in CHANGELOG.md.gz.

 -- ${MAINTAINER}  ${date}
`
}

/** `0.2.0~beta.1` for 0.2.0-beta.1: older than 0.2.0 for Debian too. */
export function debianVersion(of: string): string {
  return of.replace('-', '~')
}

async function install(path: string, content: Uint8Array, mode: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, content)
  await chmod(path, mode)
}

async function md5Line(path: string, name: string): Promise<string> {
  const hasher = new Bun.CryptoHasher('md5')
  for await (const piece of Bun.file(path).stream()) hasher.update(piece)
  return `${hasher.digest('hex')}  ${name}\n`
}

/** A file of this package from `src/packaging/debian`. */
function own(name: string): Promise<Uint8Array> {
  return readFile(join(import.meta.dir, 'debian', name))
}

function zipped(content: string | Uint8Array): Uint8Array {
  return gzipSync(content, { level: 9 })
}

function text(content: string): Uint8Array {
  return new TextEncoder().encode(content)
}
