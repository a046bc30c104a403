import { SCOPES } from '../domain/value/scope'
import { type Schema, schemaRef } from './specification'

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
      'A server asks for a token for itself or, with `claims`, for one of its users. Id and secret stand here or in a Basic header.',
    type: 'object',
    required: ['grant_type'],
    anyOf: [{ required: ['scopes'] }, { required: ['scope'] }],
    properties: {
      grant_type: { const: 'client_credentials' },
      client_id: { type: 'string' },
      client_secret: { type: 'string' },
      scopes: {
        type: 'array',
        items: schemaRef('Scope'),
        description:
          'A subset of the scopes of the client. A list of all six means “what I may have”, an empty one a token without scopes.',
      },
      scope: { type: 'string', description: 'The same as OAuth writes it: names with blanks.' },
      claims: schemaRef('RequestedClaims'),
      public_key: {
        type: 'string',
        description:
          'PEM (SPKI) of an RSA key of at least 2048 bits or of an EC key on P-256: the answer then has a refresh token that is bound to it.',
      },
      expires_in: {
        ...TIMESPAN,
        description: 'How long the token is valid, at most 24 hours; an hour when absent.',
      },
      not_before: {
        ...TIMESPAN,
        description: 'How long it takes until the token is valid, at most 24 hours.',
      },
    },
  },
  AuthorizationCodeRequest: {
    description: 'After a login with a provider, exchanges the code for a token, once.',
    type: 'object',
    required: ['grant_type', 'code'],
    properties: {
      grant_type: { const: 'authorization_code' },
      code: { type: 'string', description: 'Of `dxc-auth`, good for five minutes.' },
      scopes: { type: 'array', items: { const: 'ACCESS_DB' } },
      public_key: {
        type: 'string',
        description: 'PEM (SPKI): the answer then has a refresh token that is bound to it.',
      },
      intent: {
        enum: ['login', 'register'],
        description: '`login` creates no user, regardless of the policy of the database.',
      },
    },
  },
  RequestedClaims: {
    description:
      'Whose token it is to be, which needs a client with IMPERSONATE. Up to 32 claims of your own are passed on, 4 KiB in all; the ones that the server makes (`iss`, `aud`, `exp`, `scopes`, …) cannot be set.',
    type: 'object',
    required: ['sub'],
    properties: {
      sub: schemaRef('UserId'),
      email: { type: ['string', 'null'], minLength: 1 },
      name: { type: ['string', 'null'], minLength: 1 },
    },
    additionalProperties: true,
  },
  RefreshTokenRequest: {
    description: 'Gives the holder of a refresh token’s private key a new access token.',
    type: 'object',
    required: ['grant_type', 'refresh_token', 'time_stamp', 'signing_algorithm', 'signature'],
    properties: {
      grant_type: { const: 'refresh_token' },
      refresh_token: { type: 'string' },
      scopes: { type: 'array', items: schemaRef('Scope') },
      time_stamp: {
        type: ['integer', 'string'],
        description: `The time of the caller, within 24 hours of ours. ${MILLISECONDS}`,
      },
      signing_algorithm: {
        type: 'string',
        enum: ['RSASSA-PKCS1-v1_5', 'RSA256', 'RS256', 'ECDSA', 'ES256'],
      },
      signature: {
        type: 'string',
        contentEncoding: 'base64',
        description:
          'The signature, with SHA-256, over `refresh_token` followed by the digits of `time_stamp`. It is good for one token.',
      },
      public_key: { type: 'string', description: 'The key that the token is bound to, or none.' },
    },
  },
  TokenResponse: {
    type: 'object',
    required: ['type', 'claims', 'accessToken', 'accessTokenExpiration', 'userType'],
    properties: {
      type: { const: 'tokens' },
      claims: schemaRef('TokenClaims'),
      accessToken: { type: 'string', description: 'For `Authorization: Bearer`.' },
      accessTokenExpiration: { type: 'integer', description: MILLISECONDS },
      refreshToken: { type: 'string', description: 'When a `public_key` was given.' },
      refreshTokenExpiration: {
        type: ['integer', 'null'],
        description: 'Null: it expires after 180 days without use.',
      },
      userType: { enum: ['demo', 'eval', 'prod', 'client'] },
      evalDaysLeft: { type: 'integer', minimum: 0 },
      userValidUntil: { type: 'integer', description: MILLISECONDS },
      alerts: { type: 'array', items: schemaRef('TokenAlert') },
      data: { type: ['object', 'null'], description: 'The `data` of the user.' },
      userId: { type: 'string', description: 'The same as `claims.sub`.' },
      access_token: { type: 'string', description: 'The same as `accessToken`.' },
      token_type: { const: 'Bearer' },
      expires_in: { type: 'integer', minimum: 0, description: 'Seconds.' },
      scope: { type: 'string', description: 'The granted scopes, separated by blanks.' },
    },
  },
  TokenClaims: {
    type: 'object',
    required: ['sub'],
    properties: {
      sub: {
        type: 'string',
        description: 'The user id, or the client id of a client’s own token.',
      },
      email: { type: 'string' },
      name: { type: 'string' },
      license: { enum: ['ok', 'expired', 'deactivated'] },
    },
    additionalProperties: true,
  },
  TokenAlert: {
    description: 'Something that the user should read.',
    type: 'object',
    required: ['type', 'messageCode', 'message'],
    properties: {
      type: { enum: ['warning', 'info'] },
      messageCode: { type: 'string' },
      message: { type: 'string' },
      messageParams: { type: 'object', additionalProperties: { type: 'string' } },
    },
  },
  TokenRefusal: {
    description:
      'A refused token request in the words of RFC 6749 §5.2, with the fields of every other error beside them. Where `authorization_code` is refused with another status than 403, it is also an error that clients show to people: `type`, `title`, `messageCode` and `messageParams`.',
    allOf: [schemaRef('Error')],
    type: 'object',
    properties: {
      error: {
        enum: [
          'invalid_request',
          'invalid_client',
          'invalid_grant',
          'invalid_scope',
          'unauthorized_client',
          'unsupported_grant_type',
          'access_denied',
        ],
        description: 'Absent where OAuth has no word for it.',
      },
      error_description: { type: 'string', description: 'The message in plain ASCII.' },
      type: { const: 'error' },
      title: { type: 'string' },
      messageCode: {
        enum: ['INVALID_OTP', 'GENERIC_ERROR'],
        description: '`INVALID_OTP`: the code is over or was used already.',
      },
      messageParams: { type: 'object', additionalProperties: { type: 'string' } },
    },
  },
  TokenValidation: {
    type: 'object',
    required: ['valid', 'claims'],
    properties: { valid: { const: true }, claims: schemaRef('TokenClaims') },
  },
  InvalidToken: {
    type: 'object',
    required: ['valid', 'message'],
    properties: { valid: { const: false }, message: { type: 'string' } },
  },
  JsonWebKeySet: {
    description: 'The public keys that access tokens are signed with (RFC 7517), ES256.',
    type: 'object',
    required: ['keys'],
    properties: {
      keys: {
        type: 'array',
        items: {
          type: 'object',
          required: ['kty', 'crv', 'x', 'y', 'kid', 'use', 'alg'],
          properties: {
            kty: { const: 'EC' },
            crv: { const: 'P-256' },
            x: { type: 'string' },
            y: { type: 'string' },
            kid: { type: 'string' },
            use: { const: 'sig' },
            alg: { const: 'ES256' },
          },
        },
      },
    },
  },
}
