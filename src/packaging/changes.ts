/**
 * The part of a changelog about `version`, without its heading. Throws when there is none, or when it is marked as
 * unreleased.
 */
export function changesOf(changelog: string, version: string): string {
  const parts = changelog.split(/^## /m).slice(1)
  const part = parts.find((text) => text.split(/\s/, 1)[0] === version)
  if (part === undefined) throw new Error(`CHANGELOG.md has no part about ${version}`)
  const [heading = '', ...lines] = part.split('\n')
  if (heading.includes('unreleased')) {
    throw new Error(`CHANGELOG.md says that ${version} is unreleased: put the date there`)
  }
  return `${lines.join('\n').trim()}\n`
}
