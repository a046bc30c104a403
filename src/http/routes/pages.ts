import { Elysia, NotFoundError } from 'elysia'
import { isDatabaseName } from '../../domain/value/database-name'
import { SatchelError } from '../../domain/value/error'
import { isLoopbackHost } from '../../domain/value/web-address'
import { isLoopback } from '../../net/networks'
import { answer } from '../answer'
import { type Call, segment } from '../call'
import { route } from '../caller'
import type { HttpContext } from '../context'
import { errorPage, pageAnswer, wantsPage } from '../pages/page'

/** The pages that greet a person, and the guides. They are loaded on the first request. */
export function pageRoutes(http: HttpContext) {
  async function welcome(call: Call, names: readonly string[] | undefined): Promise<Response> {
    const { origin } = new URL(call.sent.url)
    // The script of the page: a line every two seconds would hide the others, and the mails among them.
    call.isUnlogged = names !== undefined && call.sent.headers.get('sec-fetch-dest') === 'empty'
    const { welcomePage, WELCOME_SCRIPTS } = await import('../pages/welcome-page')
    const html = welcomePage({
      version: http.version,
      databases: names?.map((name) => ({ name, url: `${origin}/${name}` })),
      mails: names === undefined ? [] : http.printedMails(),
      hasAdmin: http.answerAdmin !== undefined,
    })
    return pageAnswer(call, html, { scripts: names === undefined ? [] : WELCOME_SCRIPTS })
  }

  async function guide(call: Call, name: string | undefined): Promise<Response> {
    if (wantsPage(call.sent)) call.refuse = notFound
    http.limits.other(call)
    const { guidePage, GUIDE_SCRIPTS } = await import('../pages/guide-page')
    const html = guidePage(name)
    if (html === undefined) {
      throw new SatchelError('UNKNOWN_ROUTE', 'There is no such guide: see /docs')
    }
    return pageAnswer(call, html, { scripts: GUIDE_SCRIPTS })
  }

  return new Elysia({ name: 'pages' })
    .get(
      '/',
      ...route('describeService', async (call) => {
        if (wantsPage(call.sent)) {
          return await welcome(call, isHere(http, call) ? await http.hosts.list() : undefined)
        }
        return answer(
          call,
          JSON.stringify({ name: 'satchel', version: http.version, documentation: '/openapi' }),
        )
      }),
    )
    .get('/docs', ...route('readGuides', (call) => guide(call, undefined)))
    .get('/docs/:guide', ...route('readGuide', (call) => guide(call, segment(call, 1))))
    .get(
      '/:database',
      ...route(null, async (call) => {
        const isPage = wantsPage(call.sent)
        const name = segment(call, 0)
        // Programs are told the methods of a route that the server has here.
        if (!isPage && !isDatabaseName(name)) throw new NotFoundError()
        if (isPage) call.refuse = notFound
        http.limits.other(call)
        const isShown = isPage && isHere(http, call) && isDatabaseName(name)
        if (isShown && (await http.hosts.list()).includes(name)) return await welcome(call, [name])
        throw new SatchelError('UNKNOWN_ROUTE', 'There is no route at this address: see /openapi')
      }),
    )
}

function notFound(call: Call, error: SatchelError): Response {
  return errorPage(
    call,
    { title: 'There is nothing here', text: error.message, isNavigable: true },
    error,
  )
}

/**
 * True when the request is from a browser on this machine to a server in development. The host name is
 * checked too: a page elsewhere could have its own name resolved to this machine.
 */
function isHere(http: HttpContext, call: Call): boolean {
  const { hostname } = new URL(call.sent.url)
  return http.origins.isDevelopment() && isLoopback(call.address) && isLoopbackHost(hostname)
}
