import { chmod, cp, link, mkdir, rm } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import process from 'node:process'
import { license, version } from '../../package.json'
import manifest from '../npm/package.json'
import { thisPlatform } from '../npm/platform'
import { compile, compileReproducibly, sha256 } from './compile'
import { DIST, ROOT } from './folders'
import { thirdPartyNotices } from './notices'
import { ALL_PLATFORMS, findPlatform, type Platform, PLATFORMS } from './platforms'

/** One package with the executables for these platforms, or with `dist/satchel` for this one. */
export async function makePackage(platforms: readonly Platform[]): Promise<void> {
  const root = join(DIST, 'npm')
  await rm(root, { recursive: true, force: true })
  const folder = join(root, 'satchel')
  await makeModules(folder, {})
  await mkdir(join(folder, 'bin'))
  const own = findPlatform(thisPlatform())
  for (const platform of platforms.length === 0 ? [own] : platforms) {
    const executable = join(folder, 'bin', `satchel-${platform}`)
    if (platforms.length > 0) await compile(executable, PLATFORMS[platform].target)
    else await link(join(DIST, 'satchel'), executable)
  }
  const made = await pack(folder, platforms.length === 0 ? FAST : SMALL)
  process.stdout.write(`Install it with npm install --save-dev ${relative(process.cwd(), made)}\n`)
}

/** The packages of a registry, with the executables themselves and their sums for other downloads. */
export async function makePublished(): Promise<void> {
  const root = join(DIST, 'publish')
  await rm(root, { recursive: true, force: true })
  const { executables } = await makeRegistryPackages(root, ALL_PLATFORMS)
  const sums = [...executables.values()].map(
    async (path) => `${await sha256(path)}  ${basename(path)}\n`,
  )
  await Bun.write(join(root, 'SHA256SUMS'), (await Promise.all(sums)).join(''))
}

interface RegistryPackages {
  readonly executables: ReadonlyMap<Platform, string>
  /** The paths of the packages. */
  readonly packages: readonly string[]
}

/** A package for each of these platforms, and one that depends on those of all, in the folder `root`. */
export async function makeRegistryPackages(
  root: string,
  platforms: readonly Platform[],
): Promise<RegistryPackages> {
  const notices = await thirdPartyNotices()
  const executables = new Map<Platform, string>()
  const packages: string[] = []
  for (const platform of platforms) {
    const executable = join(root, `satchel-${platform}`)
    await compileReproducibly(executable, PLATFORMS[platform].target)
    executables.set(platform, executable)
    packages.push(await makePlatformPackage(root, platform, executable, notices))
  }
  const folder = join(root, 'satchel')
  const names = ALL_PLATFORMS.map((platform) => `@satchel/${platform}`)
  await makeModules(folder, {
    optionalDependencies: Object.fromEntries(names.map((name) => [name, version])),
  })
  packages.push(await pack(folder, SMALL))
  return { executables, packages }
}

async function makePlatformPackage(
  root: string,
  platform: Platform,
  executable: string,
  notices: string,
): Promise<string> {
  const { os, cpu, libc } = PLATFORMS[platform]
  const folder = join(root, `${platform}.package`)
  await mkdir(join(folder, 'bin'), { recursive: true })
  await link(executable, join(folder, 'bin', 'satchel'))
  await cp(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
  await Bun.write(join(folder, 'THIRD-PARTY-NOTICES.txt'), notices)
  await writeJson(join(folder, 'package.json'), {
    name: `@satchel/${platform}`,
    version,
    description: `The executable of Satchel for ${platform}.`,
    license,
    os: [os],
    cpu: [cpu],
    ...(libc === null ? {} : { libc: [libc] }),
    // Programs cannot be run inside an archive.
    preferUnplugged: true,
  })
  return await pack(folder, SMALL)
}

/** The launcher and the module for tests. Nothing is run when the package is installed. */
async function makeModules(folder: string, more: object): Promise<void> {
  const source = join(ROOT, 'src', 'npm')
  const compiler = Bun.spawn([process.execPath, 'x', 'tsc', '-p', source, '--outDir', folder], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if ((await compiler.exited) !== 0) throw new Error('the npm package has faulty types')
  await chmod(join(folder, 'launcher.js'), 0o755)
  await cp(join(source, 'README.md'), join(folder, 'README.md'))
  await cp(join(ROOT, 'LICENSE'), join(folder, 'LICENSE'))
  await writeJson(join(folder, 'package.json'), { ...manifest, version, license, ...more })
}

/** Levels of compression: for a file that is installed from beside it, and for one that is downloaded. */
const FAST = '1'
const SMALL = '9'

/** Packs a package beside its folder. Returns its path. */
async function pack(folder: string, level: string): Promise<string> {
  const root = dirname(folder)
  const command = ['pm', 'pack', '--destination', root, '--gzip-level', level, '--quiet']
  const packer = Bun.spawn([process.execPath, ...command], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [name, exitCode] = await Promise.all([packer.stdout.text(), packer.exited])
  if (exitCode !== 0) throw new Error(`${folder} cannot be packed`)
  const file = join(root, basename(name.trim()))
  const megabytes = Math.round(Bun.file(file).size / 1e6)
  process.stdout.write(`Made ${relative(process.cwd(), file)}, ${megabytes} MB\n`)
  return file
}

async function writeJson(path: string, value: object): Promise<void> {
  await Bun.write(path, `${JSON.stringify(value, null, 2)}\n`)
}
