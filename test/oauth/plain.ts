/** A provider that knows OAuth and nothing of OpenID. Everybody who comes is Alice. */
export function startPlainProvider(note: (request: string) => void = () => {}) {
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch(request) {
      note(request.url)
      const { pathname, searchParams } = new URL(request.url)
      if (pathname === '/token') {
        return Response.json({ access_token: 'of Alice', token_type: 'Bearer' })
      }
      if (pathname === '/me') {
        const isAlice = request.headers.get('authorization') === 'Bearer of Alice'
        const alice = { email: 'alice@example.com', email_verified: true, name: 'Alice' }
        return isAlice ? Response.json(alice) : new Response(null, { status: 401 })
      }
      // Its dialect has few words (RFC 6749 §4.1.2.1).
      const isKnown = ['email', null].includes(searchParams.get('scope'))
      const back = new URL(searchParams.get('redirect_uri') ?? '')
      back.searchParams.set('state', searchParams.get('state') ?? '')
      if (isKnown) back.searchParams.set('code', 'for Alice')
      else back.searchParams.set('error', 'invalid_scope')
      return Response.redirect(back.href, 302)
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    [Symbol.dispose]: () => void server.stop(true),
  }
}
