/** A browser without a screen: it keeps cookies, follows redirects and can send forms. */
export interface Visitor {
  /** Where it is, after all redirects, or the address on another application it was sent to. */
  go(url: string, request?: RequestInit): Promise<Page>
  /** Sends the first form of a page with these fields filled in. */
  submit(page: Page, fields?: Readonly<Record<string, string>>): Promise<Page>
  /** All addresses it was at, in order. */
  readonly trail: readonly string[]
}

export interface Page {
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly html: string
}

interface Cookie {
  readonly value: string
  readonly host: string
  readonly path: string
  readonly isLax: boolean
}

/** `stopsAt` names the addresses that no server answers: those of applications. */
export function createVisitor(stopsAt: (url: URL) => boolean): Visitor {
  const cookies = new Map<string, Cookie>()
  const trail: string[] = []

  function cookiesFor(url: URL, isCrossSitePost: boolean): string {
    return [...cookies]
      .filter(([, { host, path, isLax }]) => {
        const isSent = host === url.host && `${url.pathname}/`.startsWith(path.replace(/\/?$/, '/'))
        return isSent && !(isLax && isCrossSitePost)
      })
      .map(([key, { value }]) => `${key.split(' ')[0]}=${value}`)
      .join('; ')
  }

  function keep(url: URL, headers: Headers): void {
    for (const text of headers.getSetCookie()) {
      const [pair = '', ...attributes] = text.split(';').map((part) => part.trim())
      const [name, ...rest] = pair.split('=')
      const find = (wanted: string) =>
        attributes
          .find((attribute) => attribute.toLowerCase().startsWith(`${wanted}=`))
          ?.split('=')[1]
      const path = find('path') ?? '/'
      const isLax = find('samesite')?.toLowerCase() === 'lax'
      const isGone = find('expires')?.includes('1970') ?? false
      const key = `${name} ${url.host} ${path}`
      if (isGone) cookies.delete(key)
      else cookies.set(key, { value: rest.join('='), host: url.host, path, isLax })
    }
  }

  async function go(address: string, request: RequestInit = {}): Promise<Page> {
    let url = new URL(address)
    let next: RequestInit = request
    for (;;) {
      trail.push(url.href)
      if (stopsAt(url)) return { url: url.href, status: 0, headers: new Headers(), html: '' }
      const headers = new Headers(next.headers)
      const origin = headers.get('origin')
      const cookie = cookiesFor(url, next.method === 'POST' && origin !== url.origin)
      if (cookie !== '') headers.set('cookie', cookie)
      const response = await fetch(url, { ...next, headers, redirect: 'manual' })
      keep(url, response.headers)
      const location = response.headers.get('location')
      if (location === null) {
        const { status } = response
        return { url: url.href, status, headers: response.headers, html: await response.text() }
      }
      await response.arrayBuffer()
      url = new URL(location, url)
      next = {}
    }
  }

  return {
    trail,
    go,
    submit(page, fields = {}) {
      const { action, values } = readForm(page)
      const body = new URLSearchParams({ ...values, ...fields })
      return go(action, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          origin: new URL(page.url).origin,
        },
        body: body.toString(),
      })
    },
  }
}

function readForm({ url, html }: Page) {
  const [, form = ''] = /<form([\s\S]*?)<\/form>/.exec(html) ?? []
  const [, action = ''] = /action="([^"]*)"/.exec(form) ?? []
  const values: Record<string, string> = {}
  for (const [tag] of form.matchAll(/<input[^>]*>/g)) {
    const [, name] = /name="([^"]*)"/.exec(tag) ?? []
    const [, value = ''] = /value="([^"]*)"/.exec(tag) ?? []
    if (name !== undefined) values[name] = unescapeHtml(value)
  }
  return { action: new URL(unescapeHtml(action), url).href, values }
}

function unescapeHtml(text: string): string {
  return text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}
