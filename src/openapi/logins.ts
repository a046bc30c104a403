import { PROVIDER_TYPES } from '../domain/store/records'
import {
  answer,
  inQuery,
  object,
  type Operations,
  type Schema,
  schemaRef,
  text,
} from './specification'

/** Logins with outside providers (spec.md §2.4, §4.4, protocol.md §3.2, §3.3). */
export const LOGIN_OPERATIONS: Operations = {
  listLoginProviders: {
    tag: 'login',
    summary: 'List the ways to log in',
    description:
      'The login providers in the order in which they were added (`satchel provider add`), and whether people can log in with a code sent by e-mail.',
    curl: 'curl "$DB/auth-providers"',
    responses: {
      '200': answer(
        'The ways to log in.',
        schemaRef('LoginProviders'),
        'Google, and codes by e-mail',
        {
          providers: [
            {
              type: 'google',
              name: 'google',
              displayName: 'Google',
              scopes: ['openid', 'email', 'profile'],
            },
          ],
          otpEnabled: true,
        },
      ),
    },
  },
  beginLogin: {
    tag: 'login',
    summary: 'Log in with a provider',
    description:
      'A page for browsers: it redirects them to the login page of the provider. They return to `redirect_uri` with one more parameter in its query, `dxc-auth`: base64url without padding of a JSON object with `provider`, `state` and either `code`, for `POST /{database}/token` with `grant_type` `authorization_code` within five minutes, or `error`.\n\nAn `error` with `access_denied` means that the person cancelled; one with “email” and “verif”, that the provider did not verify their address. Without a valid `redirect_uri` a refusal is a page, or JSON for clients that accept only JSON.',
    parameters: [
      {
        name: 'redirect_uri',
        in: 'query',
        required: true,
        description:
          'The URL to return to, with its query and its fragment: a page of a listed origin (`satchel origin add https://app.example.com`), or an address of a listed scheme (`satchel origin add myapp:`).',
        schema: { type: 'string', format: 'uri' },
        example: 'https://app.example.com/todo',
      },
      inQuery(
        'scopes',
        'OAuth scopes to request from the provider instead of the configured ones, separated by blanks.',
      ),
    ],
    responses: {
      '302': {
        description: 'Redirects to the provider, or back with an error if it does not answer.',
        headers: {
          Location: { description: 'The target URL.', schema: { type: 'string', format: 'uri' } },
          'Set-Cookie': {
            description: 'Binds the login to this browser, for half an hour.',
            schema: { type: 'string' },
          },
        },
      },
      '303': {
        description:
          'Redirects a browser that used another address to the same route at the public address of the database.',
        headers: {
          Location: { description: 'The target URL.', schema: { type: 'string', format: 'uri' } },
        },
      },
    },
    refusals: ['ORIGIN_NOT_ALLOWED', 'UNKNOWN_PROVIDER', 'NO_PUBLIC_ADDRESS'],
    alsoAsPage: true,
  },
}

/** The `scopes` of a login. */
export const PERSON_SCOPES: Schema = { type: ['array', 'null'], items: { const: 'ACCESS_DB' } }

/** The `public_key` of a login. */
export const PUBLIC_KEY: Schema = {
  type: ['string', 'null'],
  description: 'A key as PEM (SPKI): the answer then has a refresh token that is bound to it.',
}

/** The `intent` of a login. */
export const INTENT: Schema = {
  enum: ['login', 'register', null],
  description:
    'The intent of the person. `login` creates no user, regardless of the policy of the database; with `register`, rejected newcomers get `USER_NOT_ACCEPTED`.',
}

/** Logins with providers and by e-mail (spec.md §2.4, protocol.md §2.1). */
export const LOGIN_SCHEMAS: Readonly<Record<string, Schema>> = {
  LoginProviders: object({
    providers: { type: 'array', items: schemaRef('LoginProvider') },
    otpEnabled: {
      type: 'boolean',
      description: 'Whether people can log in with a code sent by e-mail (`grant_type` `otp`).',
    },
  }),
  LoginProvider: object({
    type: { enum: PROVIDER_TYPES },
    name: text('For `GET /{database}/oauth/login/{provider}`.'),
    displayName: text('The label of the button.'),
    'iconUrl?': { type: 'string', format: 'uri' },
    scopes: {
      type: 'array',
      items: { type: 'string' },
      description: 'The scopes that the provider is asked for.',
    },
  }),
  OtpRequest: {
    description:
      'Requests a mail with a code. The answer is the same for every address, known or not.',
    ...object({
      grant_type: { const: 'otp' },
      email: text(
        'The address. `a@example.com as b@example.com` sends the code to the first address, for a token of the second; only for the owner of a client with GLOBAL_READ and GLOBAL_WRITE (`satchel client create --email`).',
      ),
      scopes: PERSON_SCOPES,
      'intent?': INTENT,
    }),
    not: { required: ['otp'] },
  },
  OtpRedemption: {
    description:
      'Exchanges the code, which is valid once, for ten minutes and five tries. The link in the mail contains `otp_id` and `otp`; no `email` is needed then.',
    ...object({
      grant_type: { const: 'otp' },
      otp_id: text('From the answer to the first step.'),
      otp: text('The code as the person typed it: case, blanks and hyphens are ignored.'),
      'email?': text('The same as in the first step.'),
      'scopes?': PERSON_SCOPES,
      'public_key?': PUBLIC_KEY,
      'intent?': INTENT,
    }),
  },
  OtpEmailRequest: {
    description: 'The first step of the SDK, whose code needs no `otp_id`.',
    ...object({
      grant_type: { const: 'otp-email' },
      email: { type: 'string' },
      'scopes?': PERSON_SCOPES,
      'intent?': INTENT,
    }),
  },
  OtpTokenRequest: {
    description: 'The second step of the SDK.',
    ...object({
      grant_type: { const: 'otp-token' },
      email: { type: 'string' },
      otp: { type: 'string' },
      'scopes?': PERSON_SCOPES,
      'public_key?': PUBLIC_KEY,
      'intent?': INTENT,
    }),
  },
  OtpSent: {
    description: 'A mail with a code is being sent.',
    ...object({ type: { const: 'otp-sent' }, otp_id: { type: 'string' } }),
  },
  DemoRequest: {
    description: 'An imported demo user, who needs no code.',
    ...object({
      grant_type: { const: 'demo' },
      demo_user: { type: 'string', pattern: '@demo\\.local$' },
      scopes: PERSON_SCOPES,
      'public_key?': PUBLIC_KEY,
    }),
  },
}
