import type { DoorName } from '../../domain/access/door'
import type { SatchelError } from '../../domain/value/error'
import { STATUS } from '../../openapi/status'
import { answer, errorAnswer, retryHeaders } from '../answer'
import type { Call } from '../call'
import { type Addressed, databaseOf, route } from '../caller'
import type { HttpContext } from '../context'

/** The page of an error, for the person who sees it. */
export interface Message {
  readonly title: string
  readonly text: string
  /** What the developer or the administrator can do, where that is another person. */
  readonly remedy?: string
  /** An http(s) address that leads back. */
  readonly back?: URL | undefined
  /** The page links to those for people who run or use the server. */
  readonly isNavigable?: true
}

/**
 * Makes each `route` of a database that people open by a link. Each request is counted as a step of a login. Their errors are pages, as `describe` says, because there is nowhere to redirect to; clients
 * that accept JSON but not HTML get JSON.
 */
export function pages(http: HttpContext, describe: (error: SatchelError, call: Call) => Message) {
  const refuse = (call: Call, error: SatchelError) =>
    wantsJson(call.sent) ? errorAnswer(call, error) : errorPage(call, describe(error, call), error)
  return (operationId: DoorName | null, next: (request: Addressed) => Promise<Response>) =>
    route(operationId, async (call) => {
      call.refuse = refuse
      const opened = await databaseOf(http, call)
      http.limits.login(call)
      return next({ call, opened })
    })
}

function wantsJson({ headers }: Request): boolean {
  const accept = headers.get('accept') ?? ''
  return accept.includes('application/json') && !accept.includes('text/html')
}

/** An error as a page. */
export function errorPage(call: Call, message: Message, { code, retryAfter }: SatchelError) {
  call.code = code
  return pageAnswer(call, messagePage(message), { status: STATUS[code], retryAfter })
}

/** The source of a script of a page. */
export interface Script {
  readonly source: string
  /** True when it calls this server. */
  readonly fetches: boolean
}

/** Needs of a page beyond its own style. */
export interface PagePolicy {
  /** The page has a form that is sent to this server. */
  readonly sendsForm?: boolean
  /** The scripts of the page, which are the only ones that run. */
  readonly scripts?: readonly Script[]
}

export interface PageOptions extends PagePolicy {
  readonly status?: number
  /** Seconds after which a repeat may succeed. */
  readonly retryAfter?: number | undefined
}

/** True for browsers: programs that take anything get JSON. */
export function wantsPage({ headers }: Request): boolean {
  return headers.get('accept')?.includes('text/html') ?? false
}

/** Answers with a page, which is not cached. */
export function pageAnswer(
  call: Call,
  html: string,
  { status = 200, retryAfter, ...policy }: PageOptions = {},
): Response {
  const headers = { ...pageHeaders(policy), ...retryHeaders(retryAfter) }
  return answer(call, html, { status, type: 'text/html;charset=utf-8', headers })
}

/** Redirects with 303: the browser follows with GET, without a body. */
export function seeOther(call: Call, location: string): Response {
  const headers = { Location: location, 'Cache-Control': 'no-store' }
  return answer(call, null, { status: 303, type: null, headers })
}

/** A plain HTML page with one message, for a browser that cannot be redirected. */
export function messagePage({ title, text, remedy, back, isNavigable }: Message): string {
  const way =
    back === undefined
      ? ''
      : `
<p class="way"><a class="button main" href="${escapeHtml(back.href)}">Back to ${escapeHtml(back.host)}</a></p>`
  const note = remedy === undefined ? '' : `\n<p class="note">${escapeHtml(sentence(remedy))}</p>`
  return page(
    title,
    `${isNavigable ? `\n${NAVIGATION}` : ''}
<p class="sign quiet" aria-hidden="true">!</p>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(sentence(text))}</p>${way}${note}`,
  )
}

/** The links of a page to the pages of this server. */
export const NAVIGATION =
  '<nav aria-label="Satchel"><a href="/">Start</a><a href="/docs">Guides</a><a href="/openapi">Interface</a></nav>'

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

export interface Layout {
  /** A page to read; others are a card. */
  readonly isWide?: boolean
  /** A list of pages, at the side of a wide screen and below the content on others. */
  readonly side?: string
  readonly scripts?: readonly Script[]
}

/** A whole page with `content`: HTML in which all outside text is escaped already. */
export function page(
  title: string,
  content: string,
  { isWide = false, side = '', scripts = [] }: Layout = {},
): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <title>${escapeHtml(title)}</title>
    <style>${STYLE}</style>
  </head>
  <body${side === '' ? '' : ' class="sided"'}>
    <main${isWide ? ' class="wide"' : ''}>${content}</main>${side}${scripts.map(({ source }) => `<script>${source}</script>`).join('')}
  </body>
</html>
`
}

/**
 * The security headers of a page: no loading, no framing, no indexing; only its own style and scripts
 * and, with `sendsForm`, a form to this server.
 */
export function pageHeaders({ sendsForm = false, scripts = [] }: PagePolicy = {}) {
  const policy = [
    "default-src 'none'",
    `style-src ${hashOf(STYLE)}`,
    ...(scripts.length === 0
      ? []
      : [`script-src ${scripts.map(({ source }) => hashOf(source)).join(' ')}`]),
    ...(scripts.some(({ fetches }) => fetches) ? ["connect-src 'self'"] : []),
    "base-uri 'none'",
    `form-action ${sendsForm ? "'self'" : "'none'"}`,
    "frame-ancestors 'none'",
  ]
  return {
    'Cache-Control': 'no-store',
    'Content-Security-Policy': policy.join('; '),
    'X-Robots-Tag': 'noindex',
  }
}

function hashOf(text: string): string {
  return `'sha256-${new Bun.CryptoHasher('sha256').update(text).digest('base64')}'`
}

/** An example that scrolls and can be copied: `pre` is the HTML of a `pre` element without attributes. */
export function example(pre: string, label: string): string {
  const block = pre.replace('<pre>', `<pre role="region" aria-label="${label}" tabindex="0">`)
  return `<div class="example">${block}</div>`
}

/** Escapes text for use between tags and in quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/["&'<>]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}

const STYLE = `
:root { color-scheme: light dark; --back: #eef1f6; --card: #fff; --text: #1c2433; --soft: #5a6478;
  --line: #dfe4ec; --edge: #aeb8c9; --main: #1d4ed8; --on-main: #fff; --good: #15803d; --link: #1d4ed8; --shadow: 0 8px 32px #1c243314 }
@media (prefers-color-scheme: dark) { :root { --back: #10141c; --card: #1a202c; --text: #e8ecf4;
  --soft: #a3adc0; --line: #303848; --edge: #5b667e; --main: #7aa2ff; --on-main: #0c1530; --good: #5fd38a;
  --link: #8fb2ff; --shadow: none } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; min-height: 100dvh; display: grid; place-items: center; grid-template-columns: minmax(0, 1fr);
  padding: 1rem; background: var(--back); color: var(--text); font: 1.0625rem/1.55 system-ui, sans-serif }
main { width: 100%; max-width: 27rem; padding: 2.25rem 2rem; background: var(--card); overflow-wrap: anywhere;
  border: 1px solid var(--line); border-radius: 1.25rem; box-shadow: var(--shadow) }
h1 { margin: 0 0 .75rem; font-size: 1.6rem; line-height: 1.25; letter-spacing: -.01em; text-wrap: balance }
p { margin: 0 0 1rem }
p:last-child { margin-bottom: 0 }
dl { margin: 1.5rem 0; border-block: 1px solid var(--line) }
dl div { display: flex; gap: 1rem; padding: .7rem 0 }
dl div + div { border-top: 1px solid var(--line) }
dt { flex: 0 0 4.5rem; color: var(--soft) }
dd { margin: 0; min-width: 0 }
form { display: grid; gap: .75rem; margin: 0 }
button, .button { display: block; width: 100%; padding: .85rem 1rem; border: 1px solid var(--edge);
  border-radius: .75rem; background: none; color: var(--text); font: inherit; font-weight: 600;
  text-align: center; text-decoration: none; cursor: pointer }
.main { border-color: var(--main); background: var(--main); color: var(--on-main) }
button:hover, .button:hover { filter: brightness(1.08) }
:focus-visible { outline: 3px solid var(--main); outline-offset: 3px }
.sign { display: grid; place-items: center; width: 3.25rem; height: 3.25rem; margin: 0 0 1.25rem;
  border-radius: 50%; background: var(--main); color: var(--on-main); font-size: 1.4rem; font-weight: 600 }
.good { background: var(--good); color: var(--card) }
.quiet { background: var(--line); color: var(--soft) }
.way { margin: 1.5rem 0 0 }
.lead { margin: 0 0 .25rem; color: var(--soft) }
.note { margin: 1.5rem 0 0; color: var(--soft); font-size: .9375rem }
.soft { color: var(--soft) }
.wide { max-width: 54rem; place-self: start center; overflow-wrap: break-word }
.wide h2 { margin: 2.25rem 0 .75rem; font-size: 1.25rem; line-height: 1.3 }
.wide h3 { margin: 1.5rem 0 .5rem; font-size: 1.0625rem }
.wide ul { margin: 0 0 1rem; padding-left: 1.25rem }
nav a, .wide a { color: var(--link) }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 0 0 1.5rem; font-size: .9375rem }
.wide :is(h1, h2, h3) a { color: inherit; text-decoration: none }
.wide :is(h2, h3) a:hover { text-decoration: underline }
.sided { gap: 1rem }
.side { display: block; width: 100%; margin: 0; padding: 0 2rem 1rem; overflow-wrap: break-word }
.side h2 { margin: 0 0 .5rem; font-size: .9375rem }
.side ul { margin: 0; padding: 0; list-style: none }
.side ul ul { padding-left: .875rem; font-size: .875rem }
.side li a { display: block; padding: .3rem 0; text-decoration: none }
.side a:hover { text-decoration: underline }
.side [aria-current] { color: var(--text); font-weight: 600 }
@media (max-width: 40rem) { .wide { padding: 1.5rem 1.25rem } .side { padding: 0 1.25rem 1rem } }
@media (min-width: 64rem) { .sided { grid-template-columns: 14rem minmax(0, 54rem); justify-content: center; gap: 1.5rem }
  .sided .wide { grid-area: 1 / 2 }
  .side { grid-area: 1 / 1; position: sticky; top: 1rem; max-height: calc(100vh - 2rem); overflow-y: auto;
    place-self: start; padding: 1rem 0 1rem .5rem } }
.example { position: relative; margin: 0 0 1rem }
.example pre { margin: 0; padding-right: 4.5rem }
.example button { position: absolute; top: .375rem; right: .375rem; width: auto; padding: .25rem .625rem;
  border-radius: .375rem; background: var(--card); font-size: .8125rem; line-height: 1.4 }
code, pre { font-family: ui-monospace, monospace; font-size: .875em }
pre { margin: 0 0 1rem; padding: .875rem 1rem; overflow-x: auto; overflow-wrap: normal; line-height: 1.5;
  background: var(--back); border: 1px solid var(--line); border-radius: .5rem }
pre code { font-size: 1em }
blockquote { margin: 0 0 1rem; padding: 0 0 0 1rem; border-left: 3px solid var(--edge); color: var(--soft) }
.scrolls { margin: 0 0 1rem; overflow-x: auto }
table { width: 100%; border-collapse: collapse; font-size: .9375rem; overflow-wrap: normal }
th, td { padding: .5rem .75rem .5rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top }
.wide :not(pre) > code { white-space: nowrap }
wbr { white-space: normal }
.whole { user-select: all }
td .whole { overflow-wrap: anywhere }
.code { font-size: 1.25rem; letter-spacing: .08em }
`
