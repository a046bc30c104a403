import {
  answer,
  inHeader,
  json,
  object,
  type Parameter,
  type Schema,
  schemaRef,
  text,
} from './specification'
import { USER_DATA_SCHEMA } from './users'

/** The requests to web hooks and their answers (protocol.md §13.1), and the mails they get (§13.2). */
export const WEBHOOK_SCHEMAS: Readonly<Record<string, Schema>> = {
  NewUserQuestion: object({
    userId: schemaRef('UserId'),
    email: {
      type: ['string', 'null'],
      description:
        'Verified by an e-mail code or a provider, or stated by a client with IMPERSONATE.',
    },
  }),
  NewUserVerdict: object({
    ok: { const: true, description: 'Any other value is a failure.' },
    action: {
      enum: ['prod', 'eval', 'reject'],
      description: 'The type of the new user, or `reject`.',
    },
    'userData?': {
      ...USER_DATA_SCHEMA,
      description:
        'The `data` of the new user, with `displayName` as the name. Absent or null: the claims of the login.',
    },
  }),
  Mail: object({
    type: { enum: ['otp', 'invite'], description: 'A one-time code, or an invitation.' },
    to: text('The address of one person.'),
    from: {
      description: 'The sender set by `satchel mail set --from`.',
      ...object({ name: { type: 'string' }, address: { type: 'string' } }),
    },
    subject: { type: 'string' },
    text: { type: 'string' },
    html: { type: 'string' },
    variables: {
      description: 'The variables of the templates, for hooks with their own texts.',
      anyOf: [schemaRef('OtpMailVariables'), schemaRef('InviteMailVariables')],
    },
  }),
  OtpMailVariables: texts({
    otp: 'The code.',
    otp_id: 'The id of the code.',
    email: 'The address that logs in.',
    originName: 'The requesting application: its name or host, or the database.',
    origin: 'The origin of the requesting page, or empty.',
    link: 'Logs in without typing the code; empty if no page made the request.',
    minutes: 'The lifetime of the code.',
    notice: 'Why the code will not log this address in, or empty.',
  }),
  InviteMailVariables: texts({
    email: 'The invited address.',
    name: 'The name of the invitee, or empty.',
    realmName: 'The realm of the invitation, or empty.',
    inviterName: 'The name of the inviter.',
    inviterEmail: 'Empty if it is the same as the name.',
    originName: 'The application of the realm: its name or host, or the database.',
    origin: 'The origin of the application, or empty.',
    link: 'The page to accept or decline.',
    days: 'The lifetime of the link.',
  }),
}

/** The web hooks that the server calls, in the form of OpenAPI 3.1. */
export const WEBHOOKS = {
  newUser: {
    post: {
      operationId: 'newUser',
      tags: ['login'],
      summary: 'Decide about a new user',
      description:
        'Called when a person logs in for the first time and the sign-up policy of the database is a web hook: `satchel policy set --new-users webhook --hook-url https://app.example.com/new-user`. Every request is signed according to Standard Webhooks with the secret that this command prints once: verify it with one of their libraries.\n\nThe answer must arrive within five seconds and have at most 128 KiB. Without an answer, or with a status of 5xx, 408, 425 or 429, the request is repeated up to two times with the same `webhook-id`. Then, and after any other answer, the login fails with `WEBHOOK_ERROR`, and the person may try again with the same code; the reason is logged.',
      parameters: signature(
        '`v1,` and base64 of the HMAC-SHA-256 of `<webhook-id>.<webhook-timestamp>.<body>`, whose key is base64 behind `whsec_` in the secret. For some days after `satchel policy rotate-secret` there are two, separated by a blank.',
      ),
      requestBody: {
        required: true,
        content: json(schemaRef('NewUserQuestion'), 'The person who has logged in', {
          userId: 'alice@example.com',
          email: 'alice@example.com',
        }),
      },
      responses: {
        '200': answer('The verdict.', schemaRef('NewUserVerdict'), 'The person is admitted', {
          ok: true,
          action: 'prod',
          userData: { displayName: 'Alice' },
        }),
      },
    },
  },
  mail: {
    post: {
      operationId: 'mail',
      tags: ['login'],
      summary: 'Send a mail',
      description:
        'Called instead of a mail server when the address of `satchel mail set` is that of a web hook. Every request is signed according to Standard Webhooks with the secret that this command prints once, or with `SATCHEL_MAIL_HOOK_SECRET` if the web hook is that of the server: verify it with one of their libraries.\n\nA status from 200 to 299 within five seconds means that the hook accepted the mail, 400, 410, 413 or 422 that it rejects it for good. After any other answer the request is repeated, at growing intervals, until the content of the mail expires. A mail may be delivered twice.',
      parameters: signature(
        '`v1,` and base64 of the HMAC-SHA-256 of `<webhook-id>.<webhook-timestamp>.<body>`, whose key is base64 behind `whsec_` in the secret.',
      ),
      requestBody: {
        required: true,
        content: json(schemaRef('Mail'), 'A one-time code', {
          type: 'otp',
          to: 'alice@example.com',
          from: { name: 'My App', address: 'app@example.com' },
          subject: 'K7QM2XWD is your code for app.example.com',
          text: 'This is the code to log in to app.example.com as alice@example.com: …',
          html: '<!doctype html>…',
          variables: {
            otp: 'K7QM2XWD',
            otp_id: '6yQZ0vTn2bq1XgkRj5mWcA',
            email: 'alice@example.com',
            originName: 'app.example.com',
            origin: 'https://app.example.com',
            link: 'https://app.example.com/?otpId=6yQZ0vTn2bq1XgkRj5mWcA&otp=K7QM2XWD',
            minutes: 10,
            notice: '',
          },
        }),
      },
      responses: {
        '202': { description: 'The hook will send the mail; so does every other 2xx.' },
      },
    },
  },
}

/** An object with these properties and descriptions; `minutes` and `days` are integers, the others strings. */
function texts(properties: Readonly<Record<string, string>>): Schema {
  return {
    type: 'object',
    required: Object.keys(properties),
    properties: Object.fromEntries(
      Object.entries(properties).map(([name, description]) => [
        name,
        { type: /^(?:minutes|days)$/.test(name) ? 'integer' : 'string', description },
      ]),
    ),
  }
}

/** The headers that authenticate a request (Standard Webhooks). */
function signature(description: string): Parameter[] {
  return [
    inHeader('webhook-id', 'The same for every repetition of a request.'),
    inHeader('webhook-timestamp', 'The time of sending, in seconds since the epoch.', {
      type: 'string',
      pattern: String.raw`^\d+$`,
    }),
    inHeader('webhook-signature', description),
  ].map((header) => ({ ...header, required: true }))
}
