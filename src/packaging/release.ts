import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import process from 'node:process'
import { version } from '../../package.json'
import { type ArchivedFile, tarball } from './archive'
import { changesOf } from './changes'
import { commitTime, git } from './commit'
import { sha256 } from './compile'
import { bashCompletions, zshCompletions } from './completions'
import { makeDebsOf } from './deb'
import { DIST, ROOT } from './folders'
import { manualPage } from './manual'
import { thirdPartyNotices } from './notices'
import { makeRegistryPackages } from './npm'
import { ALL_PLATFORMS, type Platform } from './platforms'
import { billOfMaterials } from './sbom'

/**
 * Makes everything that is downloaded, in `dist/release`: for each platform an archive and a package for npm, the
 * packages for Debian, the components, the changes and the sums of all. The same tag gives the same bytes. Throws
 * unless the checkout is that of the tag of this version, without changes.
 */
export async function makeRelease(given: readonly Platform[]): Promise<void> {
  await requireTag()
  const platforms = given.length === 0 ? ALL_PLATFORMS : given
  const changes = changesOf(await readFile(join(ROOT, 'CHANGELOG.md'), 'utf8'), version)
  const time = await commitTime()
  const root = join(DIST, 'release')
  const drafts = join(DIST, 'release.drafts')
  for (const folder of [root, drafts]) await rm(folder, { recursive: true, force: true })
  await mkdir(root, { recursive: true })
  const { executables, packages } = await makeRegistryPackages(drafts, platforms)
  for (const path of packages) await rename(path, join(root, basename(path)))
  const documents = await makeDocuments(time)
  for (const [platform, executable] of executables) {
    await makeArchive(root, platform, executable, documents, time)
  }
  await makeDebsOf(executables, root)
  await Bun.write(join(root, `satchel-${version}.cdx.json`), await billOfMaterials(time))
  await Bun.write(join(root, 'CHANGES.md'), changes)
  await writeSums(root)
  await rm(drafts, { recursive: true })
}

async function requireTag(): Promise<void> {
  const tag = `v${version}`
  const tags = (await git('tag', '--points-at', 'HEAD'))?.split('\n') ?? []
  if (!tags.includes(tag)) {
    throw new Error(`A release is made of the commit with the tag ${tag}: git checkout ${tag}`)
  }
  if ((await git('status', '--porcelain')) !== '') {
    throw new Error('A release is made of a checkout without changes: see git status')
  }
}

/** The files beside the executable. */
async function makeDocuments(time: number): Promise<readonly ArchivedFile[]> {
  const bytes = (text: string) => new TextEncoder().encode(text)
  return [
    { path: 'LICENSE', content: await readFile(join(ROOT, 'LICENSE')) },
    { path: 'THIRD-PARTY-NOTICES.txt', content: bytes(await thirdPartyNotices()) },
    { path: 'satchel.1', content: bytes(manualPage(version, time)) },
    { path: 'completions/satchel.bash', content: bytes(bashCompletions()) },
    { path: 'completions/_satchel', content: bytes(zshCompletions()) },
  ]
}

async function makeArchive(
  root: string,
  platform: Platform,
  executable: string,
  documents: readonly ArchivedFile[],
  time: number,
): Promise<void> {
  const name = `satchel-${version}-${platform}`
  const program = { path: 'satchel', content: await readFile(executable), isExecutable: true }
  const files = [program, ...documents].map((file) => ({ ...file, path: `${name}/${file.path}` }))
  const path = join(root, `${name}.tar.gz`)
  await Bun.write(path, tarball(files, time))
  process.stdout.write(`Made ${relative(process.cwd(), path)}\n`)
}

/** In the form that `sha256sum --check` reads. */
async function writeSums(root: string): Promise<void> {
  const lines: string[] = []
  for (const name of (await readdir(root)).toSorted()) {
    lines.push(`${await sha256(join(root, name))}  ${name}\n`)
  }
  await Bun.write(join(root, 'SHA256SUMS'), lines.join(''))
}
