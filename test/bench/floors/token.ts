import { decodeJwt, decodeProtectedHeader, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'

import type { Floor } from './floor'

/**
 * Signs a token with the claims of the one in `answer` and a number of its own, and sends it with
 * the bytes that are around that one.
 */
export const tokenFloor: Floor = async ({ init, answer }) => {
  const { privateKey } = await generateKeyPair('ES256')
  const text = answer === '' ? plainAnswer() : answer
  const { accessToken } = JSON.parse(text) as { accessToken: string }
  const claims = decodeJwt(accessToken)
  const header = { ...decodeProtectedHeader(accessToken), alg: 'ES256' }
  const parts = text.split(accessToken)
  let number = 0
  return {
    '/main/token': {
      POST: async (request) => {
        await request.text()
        const jti = String(++number).padStart(claims.jti?.length ?? 1, '0')
        const token = await new SignJWT({ ...claims, jti })
          .setProtectedHeader(header)
          .sign(privateKey)
        return new Response(parts.join(token), init)
      },
    },
  }
}

/** An answer with the claims of design.md §4, for a floor that has none to follow. */
function plainAnswer(): string {
  const token = new UnsecuredJWT({
    iss: 'urn:satchel:0123456789abcdef',
    aud: '0123456789abcdef',
    sub: 'reader@bench.test',
    scopes: ['ACCESS_DB'],
    client_id: '0123456789abcdef',
    jti: '0123456789abcdef',
    email: 'reader@bench.test',
    name: 'reader',
    iat: 1,
    exp: 3601,
  })
  return JSON.stringify({ type: 'tokens', accessToken: token.encode() })
}
