import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BundledPackage, bundledPackages } from './bundled'
import { ROOT } from './folders'

/** The licences of all that is in the executable, as text. */
export async function thirdPartyNotices(): Promise<string> {
  const packages = await bundledPackages()
  return [
    INTRODUCTION,
    section('Bun, the runtime', [runtimeNotice()]),
    ...packages.map((each) => section(titleOf(each), each.texts)),
  ].join('\n')
}

const INTRODUCTION = `The executable of Satchel holds the runtime Bun and parts of the packages below. These are their licences.
Satchel itself is licensed under the Apache License, version 2.0: see LICENSE.
`

function titleOf({ name, version, license }: BundledPackage): string {
  return `${name} ${version} (${license})`
}

/** The makers of Bun name its licences, and those of the libraries in it, in this document. */
function runtimeNotice(): string {
  const path = join(ROOT, 'node_modules', 'bun-types', 'docs', 'project', 'license.mdx')
  return readFileSync(path, 'utf8').replace(/^---\n[\s\S]*?\n---\n/, '')
}

function section(title: string, texts: readonly string[]): string {
  const line = '='.repeat(80)
  return [line, title, line, '', ...texts.map((text) => `${text.trim()}\n`)].join('\n')
}
