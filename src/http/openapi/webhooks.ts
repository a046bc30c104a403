import { json, type Parameter, type Schema, schemaRef } from './specification'
import { USER_DATA_SCHEMA } from './user-schemas'

/** What a web hook is asked and answers (protocol.md §13.1). */
export const WEBHOOK_SCHEMAS: Readonly<Record<string, Schema>> = {
  NewUserQuestion: {
    type: 'object',
    required: ['userId', 'email'],
    properties: {
      userId: schemaRef('UserId'),
      email: {
        type: ['string', 'null'],
        description:
          'Proven by an e-mail code or a provider, or as a client with IMPERSONATE says.',
      },
    },
  },
  NewUserVerdict: {
    type: 'object',
    required: ['ok', 'action'],
    properties: {
      ok: { const: true, description: 'Anything else is a failure.' },
      action: {
        enum: ['prod', 'eval', 'reject'],
        description: 'The type of the user they become, or that they become none.',
      },
      userData: {
        ...USER_DATA_SCHEMA,
        description:
          'What becomes the `data` of the user, whose `displayName` is their name. Absent or null: what is known of them.',
      },
    },
  },
}

/** Whom the server calls, in the form of OpenAPI 3.1. */
export const WEBHOOKS = {
  newUser: {
    post: {
      operationId: 'newUser',
      tags: ['login'],
      summary: 'Decide about a new user',
      description:
        'Asked when somebody appears for the first time in a database whose policy leaves it to a web hook: `satchel policy set --new-users webhook --hook-url https://app.example.com/new-user`. The secret that this command prints once signs every request as Standard Webhooks have it: verify it with one of their libraries.\n\nThe answer must be there within five seconds and hold at most 128 KiB. When there is none, or a status of 5xx, 408, 425 or 429, the same question comes up to two times more, with the same `webhook-id`. Then, and after any other answer, the person is told `WEBHOOK_ERROR` and may try again with the same code; the log of the server says why.',
      parameters: [
        header('webhook-id', 'The same for every repetition of a question.', {
          type: 'string',
        }),
        header('webhook-timestamp', 'When it was sent, in seconds since the epoch.', {
          type: 'string',
          pattern: String.raw`^\d+$`,
        }),
        header(
          'webhook-signature',
          '`v1,` and base64 of the HMAC-SHA-256 of `<webhook-id>.<webhook-timestamp>.<body>`, whose key is base64 behind `whsec_` in the secret. For some days after `satchel policy rotate-secret` there are two, separated by a blank.',
          { type: 'string' },
        ),
      ],
      requestBody: {
        required: true,
        content: json(schemaRef('NewUserQuestion'), 'Who has logged in', {
          userId: 'alice@example.com',
          email: 'alice@example.com',
        }),
      },
      responses: {
        '200': {
          description: 'The verdict.',
          content: json(schemaRef('NewUserVerdict'), 'They may come in', {
            ok: true,
            action: 'prod',
            userData: { displayName: 'Alice' },
          }),
        },
      },
    },
  },
}

function header(name: string, description: string, schema: Schema): Parameter {
  return { name, in: 'header', required: true, description, schema }
}
