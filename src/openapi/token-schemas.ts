import { SCOPES } from '../domain/value/scope'
import { INTENT, PERSON_SCOPES, PUBLIC_KEY } from './logins'
import { object, type Schema, schemaRef, text } from './specification'

const TIMESPAN: Schema = {
  type: ['string', 'number'],
  examples: ['12h', '30 min', '90s'],
}

const MILLISECONDS = 'Milliseconds since the epoch.'

/** Token requests and their answers (spec.md §2.1, §2.2, design.md §4). */
export const TOKEN_SCHEMAS: Readonly<Record<string, Schema>> = {
  Scope: { type: 'string', enum: SCOPES, description: 'A permission of a token.' },
  TokenRequest: {
    description: 'The parameters depend on `grant_type`.',
    oneOf: [
      schemaRef('ClientCredentialsRequest'),
      schemaRef('OtpRequest'),
      schemaRef('OtpRedemption'),
      schemaRef('OtpEmailRequest'),
      schemaRef('OtpTokenRequest'),
      schemaRef('DemoRequest'),
      schemaRef('AuthorizationCodeRequest'),
      schemaRef('RefreshTokenRequest'),
    ],
  },
  ClientCredentialsRequest: {
    description:
      'A server requests a token for itself or, with `claims`, for one of its users. The id and the secret are sent here or in a Basic header.',
    anyOf: [{ required: ['scopes'] }, { required: ['scope'] }],
    ...object({
      grant_type: { const: 'client_credentials' },
      'client_id?': { type: 'string' },
      'client_secret?': { type: 'string' },
      'scopes?': {
        type: 'array',
        items: schemaRef('Scope'),
        description:
          'A subset of the scopes of the client. A list of all six scopes requests all that the client has, an empty one a token without scopes.',
      },
      'scope?': text('The same in the form of OAuth: names separated by blanks.'),
      'claims?': schemaRef('RequestedClaims'),
      'public_key?': text(
        'PEM (SPKI) of an RSA key of at least 2048 bits or of an EC key on P-256: the answer then has a refresh token that is bound to it.',
      ),
      'expires_in?': {
        ...TIMESPAN,
        description: 'The lifetime of the token, at most 24 hours; an hour by default.',
      },
      'not_before?': {
        ...TIMESPAN,
        description: 'The delay until the token becomes valid, at most 24 hours.',
      },
    }),
  },
  AuthorizationCodeRequest: {
    description: 'After a login with a provider, exchanges the code for a token, once.',
    ...object({
      grant_type: { const: 'authorization_code' },
      code: text('The code from `dxc-auth`, valid for five minutes.'),
      'scopes?': PERSON_SCOPES,
      'public_key?': PUBLIC_KEY,
      'intent?': INTENT,
    }),
  },
  RequestedClaims: {
    description:
      'The user to issue a token for, which requires a client with IMPERSONATE. Up to 32 custom claims of 4 KiB in total are included; the claims of the server (`iss`, `aud`, `exp`, `scopes`, …) cannot be set.',
    ...object({
      sub: schemaRef('UserId'),
      'email?': { type: ['string', 'null'], minLength: 1 },
      'name?': { type: ['string', 'null'], minLength: 1 },
    }),
    additionalProperties: true,
  },
  RefreshTokenRequest: {
    description: 'Gives the holder of a refresh token’s private key a new access token.',
    ...object({
      grant_type: { const: 'refresh_token' },
      refresh_token: { type: 'string' },
      'scopes?': { type: 'array', items: schemaRef('Scope') },
      time_stamp: {
        type: ['integer', 'string'],
        description: `The time of the caller, within 24 hours of the server time. ${MILLISECONDS}`,
      },
      signing_algorithm: {
        type: 'string',
        enum: ['RSASSA-PKCS1-v1_5', 'RSA256', 'RS256', 'ECDSA', 'ES256'],
      },
      signature: {
        type: 'string',
        contentEncoding: 'base64',
        description:
          'The signature, with SHA-256, over `refresh_token` followed by the digits of `time_stamp`. It is valid for one token.',
      },
      'public_key?': text('The key that the token is bound to, if sent.'),
    }),
  },
  TokenResponse: object({
    type: { const: 'tokens' },
    claims: schemaRef('TokenClaims'),
    accessToken: text('For `Authorization: Bearer`.'),
    accessTokenExpiration: { type: 'integer', description: MILLISECONDS },
    'refreshToken?': text('Present if the request had a `public_key`.'),
    'refreshTokenExpiration?': {
      type: ['integer', 'null'],
      description: 'Null: it expires after 180 days without use.',
    },
    userType: { enum: ['demo', 'eval', 'prod', 'client'] },
    'evalDaysLeft?': { type: 'integer', minimum: 0 },
    'userValidUntil?': { type: 'integer', description: MILLISECONDS },
    'alerts?': { type: 'array', items: schemaRef('TokenAlert') },
    'data?': { type: ['object', 'null'], description: 'The `data` of the user.' },
    'userId?': text('The same as `claims.sub`.'),
    'access_token?': text('The same as `accessToken`.'),
    'token_type?': { const: 'Bearer' },
    'expires_in?': { type: 'integer', minimum: 0, description: 'Seconds.' },
    'scope?': text('The granted scopes, separated by blanks.'),
  }),
  TokenClaims: {
    ...object({
      sub: text('The user id, or the client id of a client’s own token.'),
      'email?': { type: 'string' },
      'name?': { type: 'string' },
      'license?': { enum: ['ok', 'expired', 'deactivated'] },
    }),
    additionalProperties: true,
  },
  TokenAlert: {
    description: 'A message for the user.',
    ...object({
      type: { enum: ['warning', 'info'] },
      messageCode: { type: 'string' },
      message: { type: 'string' },
      'messageParams?': { type: 'object', additionalProperties: { type: 'string' } },
    }),
  },
  TokenRefusal: {
    description:
      'A refused token request, with the fields of RFC 6749 §5.2 and of every other error. If `authorization_code` is refused with a status other than 403, it also has fields for clients that show the error to a person: `type`, `title`, `messageCode` and `messageParams`.',
    allOf: [schemaRef('Error')],
    ...object({
      'error?': {
        enum: [
          'invalid_request',
          'invalid_client',
          'invalid_grant',
          'invalid_scope',
          'unauthorized_client',
          'unsupported_grant_type',
          'access_denied',
        ],
        description: 'Absent if OAuth has no matching code.',
      },
      'error_description?': text('The message in plain ASCII.'),
      'type?': { const: 'error' },
      'title?': { type: 'string' },
      'messageCode?': {
        enum: ['INVALID_OTP', 'GENERIC_ERROR'],
        description: '`INVALID_OTP`: the code has expired or was used already.',
      },
      'messageParams?': { type: 'object', additionalProperties: { type: 'string' } },
    }),
  },
  TokenValidation: object({ valid: { const: true }, claims: schemaRef('TokenClaims') }),
  InvalidToken: object({ valid: { const: false }, message: { type: 'string' } }),
  JsonWebKeySet: {
    description: 'The public keys that verify access tokens (RFC 7517), ES256.',
    ...object({
      keys: {
        type: 'array',
        items: object({
          kty: { const: 'EC' },
          crv: { const: 'P-256' },
          x: { type: 'string' },
          y: { type: 'string' },
          kid: { type: 'string' },
          use: { const: 'sig' },
          alg: { const: 'ES256' },
        }),
      },
    }),
  },
}
