import { CLIENT_ID, CLIENT_SECRET } from './openid'

export interface GitHubUser {
  readonly login: string
  readonly name: string | null
  readonly emails: readonly {
    readonly email: string
    readonly primary: boolean
    readonly verified: boolean
  }[]
}

/** The login of GitHub according to its documentation: OAuth 2 without OpenID. */
export interface GitHubServer extends Disposable {
  readonly url: string
  /** The parameters of the requests for tokens. */
  readonly exchanges: readonly URLSearchParams[]
}

interface Grant {
  readonly login: string
  readonly challenge: string | null
  readonly scopes: readonly string[]
}

export function startGitHub(users: readonly GitHubUser[]): GitHubServer {
  const codes = new Map<string, Grant>()
  const tokens = new Map<string, Grant>()
  const exchanges: URLSearchParams[] = []

  function authorize(query: URLSearchParams): Response {
    const login = query.get('login')
    if (login === null) {
      const page = '<form action="" method="get"><input name="login"></form>'
      return new Response(page, { headers: { 'content-type': 'text/html' } })
    }
    const back = new URL(query.get('redirect_uri') ?? '')
    back.searchParams.set('state', query.get('state') ?? '')
    if (login === '') {
      back.searchParams.set('error', 'access_denied')
      back.searchParams.set('error_description', 'The user has denied your application access.')
      return Response.redirect(back.href, 302)
    }
    const code = crypto.randomUUID()
    const scopes = (query.get('scope') ?? '').split(' ')
    codes.set(code, { login, challenge: query.get('code_challenge'), scopes })
    back.searchParams.set('code', code)
    return Response.redirect(back.href, 302)
  }

  /** Errors come with 200, as there. */
  async function exchange(request: Request): Promise<Response> {
    const form = new URLSearchParams(await request.text())
    exchanges.push(form)
    const isClient =
      form.get('client_id') === CLIENT_ID && form.get('client_secret') === CLIENT_SECRET
    if (!isClient) return Response.json({ error: 'incorrect_client_credentials' })
    const grant = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const challenge = new Bun.CryptoHasher('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (grant === undefined || (grant.challenge !== null && grant.challenge !== challenge)) {
      return Response.json({ error: 'bad_verification_code' })
    }
    const token = `gho_${crypto.randomUUID()}`
    tokens.set(token, grant)
    const answer = { access_token: token, token_type: 'bearer', scope: grant.scopes.join(',') }
    return request.headers.get('accept')?.includes('application/json')
      ? Response.json(answer)
      : new Response(new URLSearchParams(answer).toString())
  }

  function describe(request: Request, path: string): Response {
    const [, token = ''] = (request.headers.get('authorization') ?? '').split(' ')
    const grant = tokens.get(token)
    const user = users.find(({ login }) => login === grant?.login)
    if (grant === undefined || user === undefined || !request.headers.has('user-agent')) {
      return Response.json({ message: 'Requires authentication' }, { status: 401 })
    }
    if (path === '/user') return Response.json({ login: user.login, name: user.name, email: null })
    return grant.scopes.includes('user:email')
      ? Response.json(user.emails)
      : Response.json({ message: 'Not Found' }, { status: 404 })
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      const { pathname, searchParams } = new URL(request.url)
      if (pathname === '/login/oauth/authorize') return authorize(searchParams)
      if (pathname === '/login/oauth/access_token') return exchange(request)
      if (pathname === '/user' || pathname === '/user/emails') return describe(request, pathname)
      return new Response('Not Found', { status: 404 })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    exchanges,
    [Symbol.dispose]: () => void server.stop(true),
  }
}
