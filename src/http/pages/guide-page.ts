import readme from '../../../README.md' with { type: 'text' }
import admin from '../../../docs/admin.md' with { type: 'text' }
import backup from '../../../docs/backup.md' with { type: 'text' }
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
import copy from './copy.js' with { type: 'text' }
import { example, NAVIGATION, page, type Script } from './page'

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
  backup,
  admin,
  operations,
  testing,
  cli,
  'dexie-cloud-cli': commandLineClient,
  troubleshooting,
  contributing,
}

/** The scripts of every guide. */
export const GUIDE_SCRIPTS: readonly Script[] = [{ source: copy, fetches: false }]

/** A guide as a page; undefined when there is none of this name. Without a name it is the README. */
export function guidePage(name?: string): string | undefined {
  const text = name === undefined ? readme : Object.hasOwn(GUIDES, name) ? GUIDES[name] : undefined
  if (text === undefined) return undefined
  const title = titleOf(text)
  return page(
    title === 'Satchel' ? title : `${title} · Satchel`,
    `
${NAVIGATION}
${render(text)}`,
    { isWide: true, side: listOfGuides(name, text), scripts: GUIDE_SCRIPTS },
  )
}

function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1] ?? ''
}

/** All guides, and the sections of the one that is shown. */
function listOfGuides(shown: string | undefined, text: string): string {
  const items = [[undefined, readme] as const, ...Object.entries(GUIDES)].map(([name, guide]) => {
    const address = name === undefined ? '/docs' : `/docs/${name}`
    const link = (attributes: string) => `<a href="${address}"${attributes}>${titleOf(guide)}</a>`
    return name === shown
      ? `<li>${link(' aria-current="page"')}${sectionsOf(text)}</li>`
      : `<li>${link('')}</li>`
  })
  return `<nav class="side" aria-label="All guides"><h2>Guides</h2><ul>${items.join('')}</ul></nav>`
}

function sectionsOf(text: string): string {
  const [, ...headings] = render(text).split('<h2 ')
  const items = headings.map((heading) => {
    const link = heading.slice(heading.indexOf('>') + 1, heading.indexOf('</h2>'))
    return `<li>${link}</li>`
  })
  return items.length === 0 ? '' : `<ul>${items.join('')}</ul>`
}

/** The guides are ours, so their HTML is trusted. Their links are those of files in the repository. */
function render(text: string): string {
  let blocks = 0
  return (
    Bun.markdown
      .html(text, { headings: { ids: true, autolink: true } })
      .replaceAll(
        /href="(?:\.\.\/)?(?:docs\/)?([\w-]+)\.md(#[^"]*)?"/g,
        (_, name: string, at = '') =>
          name === 'README' ? `href="/docs${at}"` : `href="/docs/${name}${at}"`,
      )
      // Pictures are files of the repository, which an executable does not have.
      .replaceAll(/<p>(?:<a [^<>]*>)?<img [^<>]*>(?:<\/a>)?<\/p>\n?/g, '')
      .replaceAll(/(?<!<pre>)<code>([^<]+)<\/code>/g, (_, code: string) => breakable(code))
      .replaceAll(/<pre><code[^<>]*>[^<]*<\/code><\/pre>/g, (pre) =>
        example(pre, `Example ${++blocks}`),
      )
      .replaceAll(
        '<table>',
        () =>
          `<div class="scrolls" role="region" aria-label="Table ${++blocks}" tabindex="0"><table>`,
      )
      .replaceAll('</table>', '</table></div>')
  )
}

/** Lines of code may end between words, and behind a sign between two words: `/etc/` `satchel.json`. */
function breakable(code: string): string {
  return `<code>${code.replaceAll(/ |(?<=[\w)\]};])[/.,=_:-](?=\w)|\((?=[^)])/g, '$&<wbr>')}</code>`
}
