import readme from '../../../README.md' with { type: 'text' }
import type { PrintedMail } from '../context'
import copy from './copy.js' with { type: 'text' }
import live from './live.js' with { type: 'text' }
import { escapeHtml, example, page, type Script } from './page'

/** The scripts of the page where it tells about databases. */
export const WELCOME_SCRIPTS: readonly Script[] = [
  { source: copy, fetches: false },
  { source: live, fetches: true },
]

/** The contents of the page that greets a person. */
export interface Welcome {
  readonly version: string
  /** The databases and their addresses; undefined beyond this machine, where nothing is told about them. */
  readonly databases: readonly { readonly name: string; readonly url: string }[] | undefined
  /** The last mails, newest first: only in development, where they are printed in the terminal as well. */
  readonly mails: readonly PrintedMail[]
  /** True where the page for administrators answers. */
  readonly hasAdmin: boolean
}

/** The page at the address of the server, or of one database when it is the only one listed. */
export function welcomePage({ version, databases, mails, hasAdmin }: Welcome): string {
  const [first] = databases ?? []
  return page(
    'Satchel',
    `
<nav aria-label="Satchel"><a href="/docs">Guides</a><a href="/openapi">Interface</a><a href="/health">Health</a><a href="/ready">Readiness</a></nav>
<h1>Satchel ${escapeHtml(version)} is running</h1>
<p>This is the backend of local-first applications: they keep their data on the device, and sync it with a database here.</p>
${databases === undefined ? ELSEWHERE : `<div class="live" id="databases">${listed(databases)}</div>`}
${databases !== undefined && hasAdmin ? ADMIN : ''}
${databases === undefined ? '' : mailList(mails)}
${first === undefined ? '' : sample(first.url)}`,
    { isWide: true, scripts: databases === undefined ? [] : WELCOME_SCRIPTS },
  )
}

const ELSEWHERE = `
<p>If you came here to use an application, open the address of the application instead. If you build one, configure the
address of your database, which is this one followed by its name.</p>`

const NONE = `
<p>There is no database yet: <code>satchel db create main</code> creates one.</p>`

const ADMIN = `
<p><code>satchel admin --open</code> opens <a href="/docs/admin">the page for administrators</a>: each change as it comes,
the data, users, mails, and the answer why somebody does not see an object.</p>`

function listed(databases: NonNullable<Welcome['databases']>): string {
  if (databases.length === 0) return NONE
  const rows = databases.map(
    ({ name, url }) =>
      `<tr><th scope="row">${escapeHtml(name)}</th><td><code class="whole">${escapeHtml(url)}</code></td></tr>`,
  )
  return `
<h2>${databases.length === 1 ? 'Database' : 'Databases'}</h2>
<p>An application is configured with the address of its database as <code>databaseUrl</code>.</p>
<div class="scrolls" role="region" aria-label="Databases" tabindex="0"><table>
<thead><tr><th scope="col">Name</th><th scope="col">Address</th></tr></thead>
<tbody>${rows.join('\n')}</tbody></table></div>`
}

function mailList(mails: readonly PrintedMail[]): string {
  const shown = mails.map((mail) => {
    const time = new Date(mail.date).toISOString().slice(11, 19)
    const code =
      mail.otp === null ? '' : `<p><code class="code whole">${escapeHtml(mail.otp)}</code></p>`
    const link =
      mail.link === null ? '' : `<p><a href="${escapeHtml(mail.link)}">${linkText(mail)}</a></p>`
    return `<h3>${escapeHtml(mail.subject)}</h3>
<p class="soft">To ${escapeHtml(mail.to)} at ${time} UTC</p>${code}${link}`
  })
  const content =
    shown.length === 0
      ? '<p>The code of a person who logs in to an application is shown here.</p>'
      : shown.join('\n')
  return `
<h2>Codes and other mails</h2>
<p>Without a mail server, mails are shown here and in the terminal. No mail leaves this machine.
<span class="soft" id="state">Reload the page to see new mails.</span></p>
<div class="live" id="mails" aria-live="polite">${content}</div>`
}

function linkText({ kind }: PrintedMail): string {
  return kind === 'invite' ? 'Open the invitation' : 'Log in'
}

function sample(url: string): string {
  return `
<h2>Two browsers that sync</h2>
<p>Save this page as <code>shopping.html</code> in an empty folder. It is a whole local-first application: its data is in
the browser, and the add-on keeps it in step with this database.</p>
${example(`<pre>${escapeHtml(sampleFor(url))}</pre>`, 'An application that syncs')}
<p>Serve the folder:</p>
${example(`<pre>${escapeHtml(COMMAND)}</pre>`, 'The command that serves it')}
<p>Open the printed address in two browsers, and log in with the same e-mail address in both. The code is above. An item
that you add in one of them is there in the other at once.</p>
<p>Go on with <a href="/docs/starters">React, Vue or Svelte</a>, with
<a href="/docs/sharing">a list that two users share</a>, or with
<a href="/docs/rest">a backend that reads and writes the same items</a>.</p>`
}

/** The README names the version, too. */
const [COMMAND] = /^npx -y bun@\S+ shopping\.html$/m.exec(readme) ?? ['']

/** The application of the README, with the address of a database of this server. */
function sampleFor(url: string): string {
  const start = readme.indexOf('<!doctype html>')
  return readme
    .slice(start, readme.indexOf('\nHTML\n', start))
    .replace('http://127.0.0.1:7080/main', () => url)
}
