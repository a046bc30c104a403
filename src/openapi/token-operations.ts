import { oauthError } from '../auth/grant/oauth-error'
import { SatchelError } from '../domain/value/error'
import { BODY_REFUSALS, EXAMPLE_REQUEST_ID, plainRefusal } from './refusals'
import {
  answer,
  type Content,
  type Operations,
  type RefusalFormat,
  schemaRef,
} from './specification'

const CLAIMS = { sub: 'alice@example.com', email: 'alice@example.com', name: 'Alice' }
const CLIENT = { client_id: '<CLIENT_ID>', client_secret: '<CLIENT_SECRET>' }
const PEM = '-----BEGIN PUBLIC KEY-----\n…\n-----END PUBLIC KEY-----'
const ACCESS_TOKEN = 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCJ9…'
/** The parts that the answers to all logins have. */
const ISSUED = {
  type: 'tokens',
  accessToken: ACCESS_TOKEN,
  accessTokenExpiration: 1893502800000,
  access_token: ACCESS_TOKEN,
  token_type: 'Bearer',
  expires_in: 3600,
  scope: 'ACCESS_DB',
}

const REQUEST: Content = {
  'application/json': {
    schema: schemaRef('TokenRequest'),
    examples: {
      user: {
        summary: 'A token of a user, for /my',
        value: {
          grant_type: 'client_credentials',
          ...CLIENT,
          scopes: ['ACCESS_DB'],
          claims: CLAIMS,
        },
      },
      client: {
        summary: 'A token of the client itself, for /all',
        value: {
          grant_type: 'client_credentials',
          ...CLIENT,
          scopes: ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE'],
        },
      },
      bound: {
        summary: 'With a refresh token that is bound to a key',
        value: {
          grant_type: 'client_credentials',
          ...CLIENT,
          scopes: ['ACCESS_DB'],
          claims: CLAIMS,
          public_key: PEM,
        },
      },
      otp: {
        summary: 'A mail with a code',
        value: { grant_type: 'otp', email: 'alice@example.com', scopes: ['ACCESS_DB'] },
      },
      otpCode: {
        summary: 'The code of the mail',
        value: {
          grant_type: 'otp',
          email: 'alice@example.com',
          scopes: ['ACCESS_DB'],
          otp_id: '<OTP_ID>',
          otp: '<OTP>',
        },
      },
      demo: {
        summary: 'A demo user',
        value: { grant_type: 'demo', demo_user: 'foo@demo.local', scopes: ['ACCESS_DB'] },
      },
      code: {
        summary: 'After a login with a provider',
        value: {
          grant_type: 'authorization_code',
          code: '<CODE>',
          scopes: ['ACCESS_DB'],
          public_key: PEM,
        },
      },
      refresh: {
        summary: 'A new access token for a refresh token',
        value: {
          grant_type: 'refresh_token',
          refresh_token: '<REFRESH_TOKEN>',
          scopes: ['ACCESS_DB'],
          time_stamp: 1893499200000,
          signing_algorithm: 'RSASSA-PKCS1-v1_5',
          signature: '<BASE64>',
        },
      },
    },
  },
  'application/x-www-form-urlencoded': { schema: schemaRef('TokenRequest') },
}

/** Refused requests are answered as OAuth defines it, other failures as everywhere. */
const oauthRefusal: RefusalFormat = (code, message) => {
  const refusal = oauthError(new SatchelError(code, message))
  if (refusal === undefined) return plainRefusal(code, message)
  const { status, ...body } = refusal
  return { status, schema: 'TokenRefusal', body: { ...body, requestId: EXAMPLE_REQUEST_ID } }
}

const validityRefusal: RefusalFormat = (code, message) =>
  code === 'INVALID_TOKEN'
    ? { status: 401, schema: 'InvalidToken', body: { valid: false, message } }
    : plainRefusal(code, message)

/** Spec.md §4, §5 and design.md §4. */
export const TOKEN_OPERATIONS: Operations = {
  requestToken: {
    tag: 'tokens',
    summary: 'Get an access token',
    description:
      'With `client_credentials` a server that knows a client id and secret gets a token for itself or, with `claims`, for one of its users, who is created if they do not exist and the sign-up policy of the database admits them. With `otp` a person logs in by e-mail in two steps: the first mails a code, the second exchanges it. With `authorization_code` a person who logged in with a provider gets a token, with `demo` any caller gets the token of a demo user. With `refresh_token` a device gets a new access token for a fresh signature.\n\nA token has exactly the requested scopes. It is valid for an hour, or as long as `expires_in` says. A refusal has the fields of OAuth, `error` and `error_description`, beside those of every refusal. For logins by e-mail and of demo users, a refusal is one sentence of plain text that can be shown to the person, but JSON with `code` and `message` if the status is 403.',
    curl: `curl "$DB/token" -u "$CLIENT_ID:$CLIENT_SECRET" \\
  -d grant_type=client_credentials -d scope=ACCESS_DB`,
    body: REQUEST,
    responses: {
      '200': {
        description: 'The token, or the id of the code that is being sent.',
        content: {
          'application/json': {
            schema: { oneOf: [schemaRef('TokenResponse'), schemaRef('OtpSent')] },
            examples: {
              user: {
                summary: 'A token of a user',
                value: {
                  claims: { ...CLAIMS, license: 'ok' },
                  ...ISSUED,
                  userType: 'prod',
                  data: { displayName: 'Alice', email: 'alice@example.com' },
                  userId: 'alice@example.com',
                },
              },
              device: {
                summary: 'With a refresh token, for an evaluation that ends',
                value: {
                  claims: { sub: 'bob@example.com', email: 'bob@example.com', license: 'ok' },
                  ...ISSUED,
                  refreshToken: '8Cc6hJBg1bQ80tW_WE2HjLxmaR5-pgrSrSrXVeO-t10',
                  refreshTokenExpiration: null,
                  userType: 'eval',
                  evalDaysLeft: 12,
                  data: { email: 'bob@example.com' },
                  userId: 'bob@example.com',
                },
              },
              mail: {
                summary: 'A mail with a code is being sent',
                value: { type: 'otp-sent', otp_id: 'q2vR8XkFZ0m7yTn4bLw1sA' },
              },
            },
          },
        },
      },
    },
    refusals: [
      'RESERVED_CLAIM',
      'INVALID_SCOPE',
      'UNAUTHORIZED_CLIENT',
      'UNSUPPORTED_GRANT_TYPE',
      'INVALID_CLIENT',
      'CLIENT_EXPIRED',
      'INVALID_GRANT',
      'INVALID_OTP',
      'OTP_EXPIRED',
      'NOT_AUTHORIZED',
      'USER_DEACTIVATED',
      'USER_NOT_REGISTERED',
      'USER_NOT_ACCEPTED',
      'NO_SEATS_AVAILABLE',
      'WEBHOOK_ERROR',
      'MAIL_NOT_CONFIGURED',
      ...BODY_REFUSALS,
      'STORAGE_FULL',
      'READ_ONLY',
    ],
    format: oauthRefusal,
    alsoAsText: true,
  },
  validateToken: {
    tag: 'tokens',
    summary: 'Validate an access token',
    description: 'Checks the token of the `Authorization` header, and returns its claims.',
    curl: `curl "$DB/token/validate" -H "Authorization: Bearer $TOKEN"`,
    responses: {
      '200': answer('The token is valid.', schemaRef('TokenValidation'), 'A token of a user', {
        valid: true,
        claims: { ...CLAIMS, scopes: ['ACCESS_DB'], exp: 1893502800, license: 'ok' },
      }),
    },
    format: validityRefusal,
  },
  listPublicKeys: {
    tag: 'tokens',
    summary: 'List the keys that verify access tokens',
    description:
      'Public keys for verifying access tokens offline: ES256, `typ` `at+jwt`. The next signing key is published before it is used.',
    curl: `curl "$DB/.well-known/jwks.json"`,
    responses: {
      '200': {
        description: 'The keys.',
        content: { 'application/jwk-set+json': { schema: schemaRef('JsonWebKeySet') } },
      },
    },
  },
}
