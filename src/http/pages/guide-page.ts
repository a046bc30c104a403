import readme from '../../../README.md' with { type: 'text' }
import blobs from '../../../docs/blobs.md' with { type: 'text' }
import cli from '../../../docs/cli.md' with { type: 'text' }
import commandLineClient from '../../../docs/dexie-cloud-cli.md' with { type: 'text' }
import contributing from '../../../docs/contributing.md' with { type: 'text' }
import importExport from '../../../docs/import-export.md' with { type: 'text' }
import login from '../../../docs/login.md' with { type: 'text' }
import merging from '../../../docs/merging.md' with { type: 'text' }
import operations from '../../../docs/operations.md' with { type: 'text' }
import rest from '../../../docs/rest.md' with { type: 'text' }
import sharing from '../../../docs/sharing.md' with { type: 'text' }
import starters from '../../../docs/starters.md' with { type: 'text' }
import sync from '../../../docs/sync.md' with { type: 'text' }
import testing from '../../../docs/testing.md' with { type: 'text' }
import troubleshooting from '../../../docs/troubleshooting.md' with { type: 'text' }
import users from '../../../docs/users.md' with { type: 'text' }
import { NAVIGATION, page } from './page'

/** The guides by the names under which `/docs` serves them, in the order of the README. */
export const GUIDES: Readonly<Record<string, string>> = {
  sync,
  starters,
  merging,
  rest,
  sharing,
  login,
  users,
  blobs,
  'import-export': importExport,
  operations,
  testing,
  cli,
  'dexie-cloud-cli': commandLineClient,
  troubleshooting,
  contributing,
}

/** A guide as a page; undefined when there is none of this name. Without a name it is the README. */
export function guidePage(name?: string): string | undefined {
  const text = name === undefined ? readme : Object.hasOwn(GUIDES, name) ? GUIDES[name] : undefined
  if (text === undefined) return undefined
  const [, title = 'Satchel'] = /^# (.+)$/m.exec(text) ?? []
  return page(
    title === 'Satchel' ? title : `${title} · Satchel`,
    `
${NAVIGATION}
${render(text)}`,
    { isWide: true },
  )
}

/** The guides are ours, so their HTML is trusted. Their links are those of files in the repository. */
function render(text: string): string {
  let blocks = 0
  return Bun.markdown
    .html(text, { headings: { ids: true } })
    .replaceAll(/href="(?:\.\.\/)?(?:docs\/)?([\w-]+)\.md(#[^"]*)?"/g, (_, name: string, at = '') =>
      name === 'README' ? `href="/docs${at}"` : `href="/docs/${name}${at}"`,
    )
    .replaceAll('<pre>', () => `<pre role="region" aria-label="Example ${++blocks}" tabindex="0">`)
    .replaceAll(
      '<table>',
      () =>
        `<div class="scrolls" role="region" aria-label="Table ${++blocks}" tabindex="0"><table>`,
    )
    .replaceAll('</table>', '</table></div>')
}
