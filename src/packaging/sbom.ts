import { parse } from 'jsonc-parser'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { license, packageManager, version } from '../../package.json'
import { type BundledPackage, bundledPackages } from './bundled'
import { ROOT } from './folders'

/** An entry of the lock file: name and version, registry, dependencies, hash. */
type Locked = readonly [
  id: string,
  registry: string,
  needs: { readonly dependencies?: Readonly<Record<string, string>> },
  integrity: string,
]

/**
 * The components of the executable in the form of CycloneDX 1.6 (JSON): the bundled packages with the hashes of the
 * lock file, and the runtime. `time` is in seconds. Throws when the lock file lacks a bundled package.
 */
export async function billOfMaterials(time: number): Promise<string> {
  const packages = await bundledPackages()
  const locked = readLock()
  const known = new Set(packages.map(referenceOf))
  const components = packages.map((each) => componentOf(each, requireLocked(locked, each)))
  const dependencies = packages.map((each) => ({
    ref: referenceOf(each),
    dependsOn: neededBy(requireLocked(locked, each), locked).filter((ref) => known.has(ref)),
  }))
  const content = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: new Date(time * 1000).toISOString(),
      component: {
        type: 'application',
        'bom-ref': PROGRAM,
        name: 'satchel',
        version,
        licenses: [{ license: { id: license } }],
      },
    },
    components: [runtime(), ...components],
    dependencies: [
      { ref: PROGRAM, dependsOn: [runtime()['bom-ref'], ...known] },
      { ref: runtime()['bom-ref'], dependsOn: [] },
      ...dependencies,
    ],
  }
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(content))}`
  return `${JSON.stringify({ ...content, serialNumber }, null, 2)}\n`
}

const PROGRAM = `pkg:generic/satchel@${version}`

function runtime() {
  const [name = '', release = ''] = packageManager.split('@')
  return {
    type: 'platform',
    'bom-ref': `pkg:npm/${name}@${release}`,
    name,
    version: release,
    purl: `pkg:npm/${name}@${release}`,
    licenses: [{ license: { id: 'MIT' } }],
  }
}

function componentOf({ name, version: release, license: id }: BundledPackage, locked: Locked) {
  const reference = referenceOf({ name, version: release })
  const [algorithm = '', base64 = ''] = locked[3].split('-')
  if (algorithm !== 'sha512') throw new Error(`The hash of ${name} is of an unknown kind`)
  return {
    type: 'library',
    'bom-ref': reference,
    name,
    version: release,
    purl: reference,
    hashes: [{ alg: 'SHA-512', content: Buffer.from(base64, 'base64').toString('hex') }],
    licenses: [{ license: { id } }],
  }
}

function readLock(): ReadonlyMap<string, Locked> {
  const text = readFileSync(join(ROOT, 'bun.lock'), 'utf8')
  const { packages } = parse(text) as { readonly packages: Readonly<Record<string, Locked>> }
  return new Map(Object.values(packages).map((entry) => [entry[0], entry]))
}

function requireLocked(
  locked: ReadonlyMap<string, Locked>,
  { name, version: release }: Pick<BundledPackage, 'name' | 'version'>,
): Locked {
  const found = locked.get(`${name}@${release}`)
  if (found === undefined) throw new Error(`bun.lock has no ${name}@${release}`)
  return found
}

/** The references of the packages with these names, in every version that is locked. */
function neededBy(
  [, , { dependencies = {} }]: Locked,
  locked: ReadonlyMap<string, Locked>,
): string[] {
  return [...locked.keys()].flatMap((id) => {
    const at = id.lastIndexOf('@')
    const [name, release] = [id.slice(0, at), id.slice(at + 1)]
    return Object.hasOwn(dependencies, name) ? [referenceOf({ name, version: release })] : []
  })
}

/** The address of a package among all registries (purl). */
function referenceOf({ name, version: release }: Pick<BundledPackage, 'name' | 'version'>): string {
  return `pkg:npm/${name.replace('@', '%40')}@${release}`
}

/** The same for the same text: version 8, whose bits may have any meaning. */
function uuidOf(text: string): string {
  const hex = new Bun.CryptoHasher('sha256').update(text).digest('hex')
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
  ]
  return [...parts, hex.slice(20, 32)].join('-')
}
