import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import type { Clock } from '../clock'
import { randomToken } from '../domain/value/id'
import { newSecret, sameSecret } from '../domain/value/secret'
import { HOUR, SECOND } from '../domain/value/time'
import type { IdpAnswer, IdpPerson, IdpRequest } from '../host/test-mode'

export type Idp = ReturnType<typeof createIdp>

/** The first people, until a test says otherwise. */
const PEOPLE: readonly IdpPerson[] = ['Alice', 'Bob'].map((name) => ({
  email: `${name.toLowerCase()}@example.com`,
  name,
  failure: null,
}))

/** How long a provider takes that is slow, ms. */
export const SLOW_ANSWER_MS = 3 * SECOND

interface Grant {
  readonly person: IdpPerson
  readonly nonce: string | null
  readonly challenge: string | null
  readonly redirectUri: string
}

/**
 * A login provider for tests (OpenID Connect Core): its people log in without a password. `issuer` is its
 * address, `callbacks` the beginning of the addresses that it returns to.
 */
export function createIdp(issuer: string, callbacks: string, clock: Clock) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = { ...publicKey.export({ format: 'jwk' }), kid: 'test', alg: 'ES256', use: 'sig' }
  const clientId = 'satchel'
  const clientSecret = newSecret()
  const grantsByCode = new Map<string, Grant>()
  const peopleByToken = new Map<string, IdpPerson>()
  let people = PEOPLE

  /** The redirect to the callback of Satchel, after this person has logged in or denied it. */
  function authorize(parameters: URLSearchParams, person: IdpPerson): string {
    const redirectUri = parameters.get('redirect_uri') ?? ''
    const url = new URL(redirectUri)
    url.searchParams.set('state', parameters.get('state') ?? '')
    url.searchParams.set('iss', issuer)
    if (person.failure === 'denied') {
      url.searchParams.set('error', 'access_denied')
      return url.href
    }
    const code = randomToken(16)
    grantsByCode.set(code, {
      person,
      redirectUri,
      nonce: parameters.get('nonce'),
      challenge: parameters.get('code_challenge'),
    })
    url.searchParams.set('code', code)
    return url.href
  }

  function answerAuthorize(parameters: URLSearchParams): IdpAnswer {
    const isOurs =
      parameters.get('client_id') === clientId &&
      parameters.get('redirect_uri')?.startsWith(callbacks) === true
    if (!isOurs) return refusal(400, 'unauthorized_client')
    const person = people.find(({ email }) => email === parameters.get('as'))
    if (person === undefined) return html(loginPage(parameters, people))
    return { status: 303, location: authorize(parameters, person) }
  }

  async function answerToken({ form, authorization }: IdpRequest): Promise<IdpAnswer> {
    const [basicId, basicSecret] = readBasic(authorization)
    const id = form.get('client_id') ?? basicId
    const isClient =
      id === clientId && sameSecret(form.get('client_secret') ?? basicSecret, clientSecret)
    if (!isClient) return refusal(401, 'invalid_client')
    const code = form.get('code') ?? ''
    const grant = grantsByCode.get(code)
    grantsByCode.delete(code)
    if (grant === undefined || !proves(grant, form)) return refusal(400, 'invalid_grant')
    const { person } = grant
    if (person.failure === 'down') return refusal(503, 'temporarily_unavailable')
    if (person.failure === 'slow') await Bun.sleep(SLOW_ANSWER_MS)
    const token = newSecret()
    peopleByToken.set(token, person)
    return json({
      access_token: token,
      token_type: 'Bearer',
      expires_in: HOUR / SECOND,
      id_token: idToken(grant),
    })
  }

  function idToken({ person, nonce }: Grant): string {
    const now = Math.floor(clock.now() / SECOND)
    const given = person.failure === 'wrong-nonce' ? randomToken(8) : nonce
    const claims = {
      ...claimsOf(person),
      iss: issuer,
      aud: clientId,
      iat: now,
      exp: now + HOUR / SECOND,
      ...(given === null ? {} : { nonce: given }),
    }
    const text = [{ alg: 'ES256', kid: key.kid }, claims].map(encode).join('.')
    const signature = sign('sha256', Buffer.from(text), {
      key: privateKey,
      dsaEncoding: 'ieee-p1363',
    })
    return `${text}.${signature.toString('base64url')}`
  }

  return {
    /** The client that Satchel is for it. */
    clientId,
    clientSecret,
    get people(): readonly IdpPerson[] {
      return people
    },
    set people(others) {
      people = others
    },
    authorize,
    async respond(request: IdpRequest): Promise<IdpAnswer> {
      switch (request.path) {
        case '.well-known/openid-configuration':
          return json(describe(issuer))
        case 'jwks':
          return json({ keys: [key] })
        case 'authorize':
          return answerAuthorize(request.query)
        case 'token':
          return await answerToken(request)
        case 'userinfo': {
          const token = request.authorization?.replace(/^bearer /i, '') ?? ''
          const person = peopleByToken.get(token)
          return person === undefined ? refusal(401, 'invalid_token') : json(claimsOf(person))
        }
        default:
          return refusal(404, 'not_found')
      }
    },
  }
}

function describe(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code'],
    subject_types_supported: ['public'],
    scopes_supported: ['openid', 'email', 'profile'],
    id_token_signing_alg_values_supported: ['ES256'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
    authorization_response_iss_parameter_supported: true,
  }
}

function claimsOf({ email, name, failure }: IdpPerson): object {
  const sub = createHash('sha256').update(email).digest('base64url').slice(0, 16)
  return { sub, email, name, email_verified: failure !== 'unverified' }
}

/** RFC 7636 §4.6, and the same redirect address as before (RFC 6749 §4.1.3). */
function proves({ challenge, redirectUri }: Grant, form: URLSearchParams): boolean {
  if (form.get('redirect_uri') !== redirectUri) return false
  if (challenge === null) return true
  const verifier = form.get('code_verifier') ?? ''
  return createHash('sha256').update(verifier).digest('base64url') === challenge
}

function readBasic(header: string | null): [id: string, secret: string] {
  const text = Buffer.from(header?.replace(/^basic /i, '') ?? '', 'base64').toString()
  const [id = '', secret = ''] = text.split(':').map((part) => decodeURIComponent(part))
  return [id, secret]
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function json(body: unknown): IdpAnswer {
  return { status: 200, type: 'application/json', body: JSON.stringify(body) }
}

function html(body: string): IdpAnswer {
  return { status: 200, type: 'text/html;charset=utf-8', body }
}

function refusal(status: number, error: string): IdpAnswer {
  return { status, type: 'application/json', body: JSON.stringify({ error }) }
}

/** The page on which a tester chooses the person to log in as. */
function loginPage(parameters: URLSearchParams, people: readonly IdpPerson[]): string {
  const links = people.map((person) => {
    const { email, name, failure } = person
    const chosen = new URLSearchParams(parameters)
    chosen.set('as', email)
    const about = failure === null ? '' : ` (${failure})`
    return `<li><a href="authorize?${escape(chosen.toString())}">${escape(`${name ?? email}${about}`)}</a> <small>${escape(email)}</small></li>`
  })
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Log in for a test</title>
<style>
body { font: 1rem/1.6 system-ui, sans-serif; max-width: 30rem; margin: 3rem auto; padding: 0 1rem }
li { margin: 0.5rem 0 }
</style>
<main>
<h1>Log in for a test</h1>
<p>This login provider belongs to a server in test mode. Choose the person to log in as:</p>
<ul>${links.join('\n')}</ul>
</main>
</html>
`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

function escape(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character] ?? '')
}
