import { createPublicKey, generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto'
import { calculateJwkThumbprint, flattenedVerify, importJWK, type JWK } from 'jose'

/** A refusal that the authority gives once, to the next request of this kind. */
export interface Fault {
  readonly at: 'nonce' | 'order' | 'renewal'
  readonly type: string
  readonly status: number
  readonly retryAfter?: string
}

export interface Authority extends AsyncDisposable {
  readonly directory: string
  readonly faults: Fault[]
  /** The names of the certificates that were issued. */
  readonly issued: string[][]
  /** The window that is suggested for the renewal; undefined: 404. */
  window: { start: string; end: string } | undefined
  /** When to ask for it again: seconds, or a date. */
  retryAfter: string
  /** Where names are proved; 0: nothing answers. */
  httpPort: number
}

const DAY_MS = 86_400_000

/**
 * A certificate authority (RFC 8555) on this machine that checks signatures, nonces, addresses, requests and proofs,
 * and issues certificates for so many days from `now`.
 */
export function startAuthority(now: () => number, days = 90): Authority {
  const signer = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const nonces = new Set<string>()
  const accounts: JWK[] = []
  const orders: { names: string[]; proved: Set<string>; failed: Set<string>; pem?: string }[] = []
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => answer(request) })
  const base = `http://127.0.0.1:${server.port}`

  function reply(body: unknown, init: ResponseInit & { problem?: boolean } = {}): Response {
    const nonce = randomBytes(12).toString('base64url')
    nonces.add(nonce)
    const type = init.problem ? 'application/problem+json' : 'application/json'
    const headers = { 'content-type': type, 'replay-nonce': nonce, ...(init.headers as object) }
    return new Response(JSON.stringify(body), { ...init, headers })
  }

  function refuse(type: string, status: number, retryAfter?: string): Response {
    const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter }
    const body = { type: `urn:ietf:params:acme:error:${type}`, detail: `it is ${type}` }
    return reply(body, { status, headers, problem: true })
  }

  function faultAt(at: Fault['at']): Response | undefined {
    const index = authority.faults.findIndex((fault) => fault.at === at)
    if (index < 0) return undefined
    const { type, status, retryAfter } = authority.faults.splice(index, 1)[0]!
    return refuse(type, status, retryAfter)
  }

  async function answer(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname === '/nonce') return reply(null)
    if (pathname === '/directory') {
      const named = ['Nonce', 'Account', 'Order'].map((name) => [
        `new${name}`,
        `${base}/${name.toLowerCase()}`,
      ])
      return reply({ ...Object.fromEntries(named), renewalInfo: `${base}/renewal` })
    }
    if (pathname.startsWith('/renewal/')) {
      if (!/^\/renewal\/[\w-]+\.[\w-]+$/.test(pathname) || authority.window === undefined)
        return refuse('malformed', 404)
      const date = new Date(now()).toUTCString()
      const headers = { date, 'retry-after': authority.retryAfter }
      return faultAt('renewal') ?? reply({ suggestedWindow: authority.window }, { headers })
    }
    return await answerSigned(request, pathname)
  }

  async function answerSigned(request: Request, pathname: string): Promise<Response> {
    const jws = (await request.json()) as Parameters<typeof flattenedVerify>[0]
    const protectedHeader = JSON.parse(Buffer.from(jws.protected!, 'base64url').toString())
    const { nonce, url, jwk, kid } = protectedHeader as Record<string, string> & { jwk?: JWK }
    const known = jwk ?? accounts[Number(kid?.split('/').at(-1))]
    if (known === undefined) return refuse('accountDoesNotExist', 400)
    const { payload } = await flattenedVerify(jws, await importJWK(known, 'ES256'))
    if (url !== request.url) return refuse('unauthorized', 401)
    if (!nonces.delete(nonce!)) return refuse('badNonce', 400)
    const fault = faultAt('nonce')
    if (fault !== undefined) return fault
    const text = Buffer.from(payload).toString()
    const sent = text === '' ? undefined : JSON.parse(text)
    if (pathname === '/account') {
      if (sent.termsOfServiceAgreed !== true) return refuse('userActionRequired', 403)
      accounts.push(known)
      const headers = { location: `${base}/account/${accounts.length - 1}` }
      return reply({ status: 'valid' }, { status: 201, headers })
    }
    if (pathname === '/order') {
      const refused = faultAt('order')
      if (refused !== undefined) return refused
      const names = sent.identifiers.map(({ value }: { value: string }) => value)
      orders.push({ names, proved: new Set(), failed: new Set() })
      return showOrder(orders.length - 1)
    }
    return await answerOrder(pathname, sent, known)
  }

  async function answerOrder(pathname: string, sent: { csr?: string }, jwk: JWK) {
    const [, kind, id = '', name = ''] = pathname.split('/')
    const order = orders[Number(id)]!
    const token = `token-${id}-${name}`
    if (kind === 'challenge') {
      const address = `http://127.0.0.1:${authority.httpPort}/.well-known/acme-challenge/${token}`
      const proof = await fetch(address, { headers: { host: name } }).then(
        (response) => response.text(),
        () => '',
      )
      const isProved = proof === `${token}.${await calculateJwkThumbprint(jwk)}`
      ;(isProved ? order.proved : order.failed).add(name)
    }
    if (kind === 'finalize') {
      if (order.proved.size < order.names.length) return refuse('orderNotReady', 403)
      order.pem = issue(Buffer.from(sent.csr!, 'base64url'), order.names)
      authority.issued.push(order.names)
    }
    if (kind === 'certificate') {
      const headers = { 'content-type': 'application/pem-certificate-chain' }
      return new Response(order.pem, { headers })
    }
    if (kind === 'show' || kind === 'finalize') return showOrder(Number(id))
    const status = order.failed.has(name) ? 'invalid' : order.proved.has(name) ? 'valid' : 'pending'
    const error = order.failed.has(name)
      ? { type: 'x:unauthorized', detail: 'wrong proof' }
      : undefined
    const challenge = { type: 'http-01', url: `${base}/challenge/${id}/${name}`, token, error }
    return reply({ status, identifier: { value: name }, challenges: [challenge] })
  }

  function showOrder(id: number): Response {
    const { names, proved, pem } = orders[id]!
    const isReady = proved.size === names.length
    const body = {
      status: pem !== undefined ? 'valid' : isReady ? 'ready' : 'pending',
      authorizations: names.map((name) => `${base}/authorization/${id}/${name}`),
      finalize: `${base}/finalize/${id}`,
      ...(pem === undefined ? {} : { certificate: `${base}/certificate/${id}` }),
    }
    return reply(body, { status: 201, headers: { location: `${base}/show/${id}` } })
  }

  /** Throws for a request that its own key did not sign. */
  function issue(csr: Buffer, names: readonly string[]): string {
    const [info, , signature] = parts(csr) as [Buffer, Buffer, Buffer]
    const [, , spki] = parts(info) as [Buffer, Buffer, Buffer]
    const key = createPublicKey({ key: spki, type: 'spki', format: 'der' })
    if (!verify('sha256', info, key, parts(signature, false)[0]!.subarray(1)))
      throw new Error('the request is not signed by its key')
    for (const name of names) if (!info.includes(name)) throw new Error(`no ${name} in the request`)
    const ecdsa = Buffer.from('300a06082a8648ce3d040302', 'hex')
    const nobody = der(0x30)
    const alternative = der(0x30, ...names.map((name) => der(0x82, Buffer.from(name))))
    const issuer = der(0x30, der(0x80, Buffer.alloc(20, 7)))
    const tbs = der(
      0x30,
      Buffer.from('a003020102', 'hex'),
      der(0x02, Buffer.concat([Buffer.from([0]), Buffer.alloc(8, 0x90)])),
      ecdsa,
      nobody,
      der(0x30, time(now()), time(now() + days * DAY_MS)),
      nobody,
      spki,
      der(0xa3, der(0x30, extension('551d11', alternative), extension('551d23', issuer))),
    )
    const signed = sign('sha256', tbs, signer.privateKey)
    const bits = der(0x03, Buffer.concat([Buffer.from([0]), signed]))
    const text = der(0x30, tbs, ecdsa, bits).toString('base64')
    return `-----BEGIN CERTIFICATE-----\n${text.match(/.{1,64}/g)!.join('\n')}\n-----END CERTIFICATE-----\n`
  }

  const authority: Authority = {
    directory: `${base}/directory`,
    faults: [],
    issued: [],
    window: undefined,
    retryAfter: '7200',
    httpPort: 0,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
  return authority
}

function extension(oid: string, value: Buffer): Buffer {
  return der(0x30, der(0x06, Buffer.from(oid, 'hex')), der(0x04, value))
}

function time(at: number): Buffer {
  const text = new Date(at).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return der(0x18, Buffer.from(text))
}

function der(tag: number, ...content: readonly Buffer[]): Buffer {
  const all = Buffer.concat(content)
  const [high, low] = [Math.floor(all.length / 256), all.length % 256]
  const length = high > 0 ? [0x82, high, low] : low < 0x80 ? [low] : [0x81, low]
  return Buffer.concat([Buffer.from([tag, ...length]), all])
}

/** The values inside a constructed one, or, not `whole`, its content. */
function parts(value: Buffer, whole = true): Buffer[] {
  const inner = value.subarray(headOf(value).head)
  if (!whole) return [inner]
  const found: Buffer[] = []
  for (let at = 0; at < inner.length;) {
    const { head, length } = headOf(inner.subarray(at))
    found.push(inner.subarray(at, at + head + length))
    at += head + length
  }
  return found
}

function headOf(value: Buffer): { head: number; length: number } {
  const first = value[1]!
  if (first < 0x80) return { head: 2, length: first }
  const count = first & 0x7f
  return { head: 2 + count, length: value.readUIntBE(2, count) }
}
