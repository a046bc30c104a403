import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundledPackages } from '../../src/packaging/bundled'
import { changesOf } from '../../src/packaging/changes'
import { ROOT } from '../../src/packaging/folders'
import { thirdPartyNotices } from '../../src/packaging/notices'
import { billOfMaterials } from '../../src/packaging/sbom'

interface Bill {
  readonly components: readonly {
    readonly 'bom-ref': string
    readonly hashes?: readonly { readonly content: string }[]
  }[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

test('the notices have the licence of each package in the executable, and of the runtime', async () => {
  const notices = await thirdPartyNotices()
  const packages = await bundledPackages()
  const names = packages.map(({ name }) => name)
  // Of the program, of a worker's imports, and of the page for administrators.
  expect(names).toEqual(expect.arrayContaining(['elysia', 'drizzle-orm', 'preact']))
  expect(names).not.toContain('vite')
  for (const { name, version, texts } of packages) {
    expect(notices).toContain(`\n${name} ${version} (`)
    for (const text of texts) expect(notices).toContain(text.trim())
  }
  expect(notices).toContain('Bun statically links JavaScriptCore')
})

test('the components are those packages with the hashes of the lock file, and the runtime', async () => {
  const bill = JSON.parse(await billOfMaterials(0)) as Bill
  const packages = await bundledPackages()
  const references = bill.components.map((component) => component['bom-ref'])
  expect(references).toHaveLength(packages.length + 1)
  expect(references[0]).toStartWith('pkg:npm/bun@')
  const elysia = bill.components.find((component) => component['bom-ref'].includes('/elysia@'))
  const hash = Buffer.from(elysia?.hashes?.[0]?.content ?? '', 'hex').toString('base64')
  expect(readFileSync(join(ROOT, 'bun.lock'), 'utf8')).toContain(`"sha512-${hash}"`)
  const known = new Set([...references, bill.dependencies[0]?.ref])
  for (const { ref, dependsOn } of bill.dependencies) {
    expect([ref, ...dependsOn].filter((each) => !known.has(each))).toEqual([])
  }
})

test('the same lock file gives the same components at the same time', async () => {
  expect(await billOfMaterials(1)).toBe(await billOfMaterials(1))
  expect(await billOfMaterials(2)).not.toBe(await billOfMaterials(1))
})

describe('The changes of a version', () => {
  const changelog =
    '# Changelog\n\n## 0.2.0 — 2030-01-31\n\n- New.\n\n## 0.1.0 — unreleased\n\n- Old.\n'

  test('are its part of the changelog', () => {
    expect(changesOf(changelog, '0.2.0')).toBe('- New.\n')
  })

  test('are missing for a version without a part, also one with a longer name', () => {
    expect(() => changesOf(changelog, '0.2')).toThrow('CHANGELOG.md has no part about 0.2')
  })

  test('are not those of a version that is unreleased', () => {
    expect(() => changesOf(changelog, '0.1.0')).toThrow(
      'CHANGELOG.md says that 0.1.0 is unreleased',
    )
  })
})

test('a release of a checkout without the tag is refused', async () => {
  const build = Bun.spawn([process.execPath, 'build.ts', '--release', 'linux-x64'], {
    cwd: ROOT,
    env: { ...process.env, GIT_DIR: '/dev/null' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  expect(await build.stderr.text()).toContain('A release is made of the commit with the tag v')
  expect(await build.exited).toBe(1)
})

interface Workflow {
  readonly jobs: Readonly<
    Record<string, { readonly steps: readonly { readonly run?: string; readonly uses?: string }[] }>
  >
}

test('the workflows only call the scripts of this repository, and sign and publish their files', () => {
  const runs = (name: string) => {
    const text = readFileSync(join(ROOT, '.github', 'workflows', name), 'utf8')
    const { jobs } = Bun.YAML.parse(text) as Workflow
    return Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []))
  }
  expect(runs('ci.yml')).toEqual(['.ci/run'])
  const [make, ...others] = runs('release.yml')
  expect(make).toEndWith(' run release')
  for (const run of others)
    expect(run).toMatch(/^(?:cosign sign-blob|gh release create|for package)/)
})
