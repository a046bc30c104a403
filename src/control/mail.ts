import { DOORS, MANAGE } from '../domain/access/door'
import type { MailKind, TemplateFile } from '../domain/store/mailer'
import { isRecord } from '../domain/value/value'
import { requireEmail } from '../domain/value/email'
import { SatchelError } from '../domain/value/error'
import { sampleLetter } from '../mail/samples'
import {
  getTemplate,
  listTemplateFiles,
  listTemplates,
  previewMail,
  requireTemplate,
  requireTemplateFiles,
  resetTemplate,
  resetTemplates,
  setTemplate,
  setTemplates,
} from '../mail/templates'
import { filled, oneOf, optional, text, type Field, ok, schemaOf, schemaRef, whole } from './fields'
import { onDatabase, readUpload } from './operation'

const KINDS: readonly MailKind[] = ['otp', 'invite']

/** Of three templates and their test data, in which each byte may be escaped. */
const MAX_TEST_BYTES = 2 * 1024 * 1024

const SUBJECT = {
  path: 'email-templates/otp-subject.handlebars',
  content: 'Your code is {{{otp}}}',
}

const files: Field<readonly TemplateFile[]> = {
  schema: { type: 'array', items: schemaRef('TemplateFile') },
  expected: 'an array of {path, content}',
  parse: (value) => (Array.isArray(value) && value.every(isFile) ? value : undefined),
}

const variables: Field<Readonly<Record<string, unknown>>> = {
  schema: { type: 'object' },
  expected: 'an object',
  parse: (value = {}) => (isRecord(value) ? value : undefined),
}

function isFile(value: unknown): value is TemplateFile {
  return (
    isRecord(value) && typeof value['path'] === 'string' && typeof value['content'] === 'string'
  )
}

export const mailOperations = {
  'mail.show': onDatabase(
    { scopes: MANAGE, effect: 'read', summary: 'Show how mails are sent', input: {} },
    async ({ mailer }) => (await mailer.route()) ?? null,
  ),

  /**
   * The address is the upload; without an upload it is not changed. A server that gets the codes of all users could log
   * in as any of them, so that no client may choose it.
   */
  'mail.set': onDatabase(
    {
      scopes: 'operator',
      effect: 'secret',
      summary: 'Set how mails are sent',
      input: { sender: optional(text) },
    },
    async ({ mailer }, { sender }, { upload, write }) => {
      const address = upload === undefined ? {} : { address: (await readUpload({ upload })).trim() }
      const change = { ...address, ...(sender === null ? {} : { sender }) }
      const hookSecret = await mailer.configure(change, write)
      const route = await mailer.route()
      if (route === undefined) return null
      return hookSecret === null ? route : { ...route, hookSecret }
    },
  ),

  'mail.reset': onDatabase(
    { scopes: MANAGE, effect: 'write', summary: 'Send mails as the server does', input: {} },
    async ({ mailer }, _input, { write }) => {
      await mailer.configure({ address: null, sender: null }, write)
      return (await mailer.route()) ?? null
    },
  ),

  'mail.test': onDatabase(
    {
      scopes: MANAGE,
      effect: 'write',
      summary: 'Send a mail to try it',
      input: { to: text, kind: oneOf(KINDS) },
    },
    async ({ name, mailer }, { to, kind }, { now, note }) => {
      const letter = sampleLetter(kind, requireEmail(to), name, now)
      await note()
      return await mailer.trySend(letter)
    },
  ),

  'template.list': onDatabase(
    { scopes: MANAGE, effect: 'read', summary: 'List the mail templates', input: {} },
    ({ database }) => database.read(listTemplates),
  ),

  'template.show': onDatabase(
    { scopes: MANAGE, effect: 'read', summary: 'Show a mail template', input: { name: text } },
    ({ database }, { name }) => database.read((tx) => getTemplate(tx, name)),
  ),

  /** `content` is a template that is not stored; null previews the stored one. */
  'template.preview': onDatabase(
    {
      scopes: MANAGE,
      effect: 'read',
      summary: 'Fill a mail template with sample data',
      input: { name: text, content: optional(text) },
    },
    async (opened, { name, content }) => {
      const templates = await opened.database.read(listTemplates)
      return await previewMail(templates, name, content, opened.name)
    },
  ),

  /** The template is the upload. */
  'template.set': onDatabase(
    { scopes: MANAGE, effect: 'write', summary: 'Set a mail template', input: { name: text } },
    async (_host, { name }, { write, ...streams }) => {
      const template = await requireTemplate(name, await readUpload(streams))
      await write((tx) => setTemplate(tx, template))
      return { name }
    },
  ),

  'template.reset': onDatabase(
    {
      scopes: MANAGE,
      effect: 'destroy',
      summary: 'Return to a built-in mail template',
      input: { name: text },
    },
    async (_host, { name }, { write }) => ({
      name,
      wasOwn: await write((tx) => resetTemplate(tx, name)),
    }),
  ),

  /** The templates of the database, and the built-in ones for the rest, as files of `dexie-cloud`. */
  'template.pull': onDatabase(
    {
      scopes: DOORS.pullTemplates,
      effect: 'read',
      summary: 'Read the mail templates',
      input: {},
      rest: {
        operationId: 'pullTemplates',
        address: 'GET /templates/pull',
        description:
          'The templates of the database, the built-in ones for the rest, and test data.',
        answer: {
          description: 'The files.',
          schema: files.schema,
          example: ['One of them', [SUBJECT]],
        },
      },
    },
    (_host, _input, { read }) => read(listTemplateFiles),
  ),

  'template.push': onDatabase(
    {
      scopes: DOORS.pushTemplates,
      effect: 'write',
      summary: 'Set the mail templates',
      input: { files },
      rest: {
        operationId: 'pushTemplates',
        address: 'POST /templates/push',
        description: 'Files outside `email-templates` are left out. All are stored, or none.',
        curl: '[]',
        body: 'files',
        examples: { 'The subject of one-time codes': [SUBJECT] },
        answer: {
          description: 'How many were different.',
          schema: schemaOf({ ok, numUpdatedTemplates: whole }),
          example: ['One', { ok: true, numUpdatedTemplates: 1 }],
        },
      },
    },
    async (_host, { files: given }, { write }) => {
      const checked = await requireTemplateFiles(given)
      return { ok: true, numUpdatedTemplates: await write((tx) => setTemplates(tx, checked)) }
    },
  ),

  /**
   * Mails templates that are not stored to the owner of the client. Another address needs a mail server of the database
   * itself, or development: the server's own is not for mails to anybody.
   */
  'template.test': onDatabase(
    {
      scopes: DOORS.testTemplate,
      effect: 'write',
      summary: 'Mail templates to try them out',
      maxInputBytes: MAX_TEST_BYTES,
      input: {
        subjectStr: filled,
        bodyTxtStr: filled,
        bodyHtmlStr: filled,
        vars: variables,
        to: optional(text),
      },
      rest: {
        operationId: 'testTemplate',
        address: 'POST /templates/test-send',
        description:
          'To the owner of the client. Another address (`to`) needs a mail server of the database itself, or development.',
        examples: {
          'A mail': {
            subjectStr: 'Your code is {{{otp}}}',
            bodyTxtStr: '{{{otp}}}',
            bodyHtmlStr: '<b>{{otp}}</b>',
            vars: { otp: 'ABCD1234' },
          },
        },
        answer: {
          description: 'It was sent.',
          schema: schemaOf({ ok, emailReceiver: text }),
          example: ['To the owner', { ok: true, emailReceiver: 'alice@example.com' }],
        },
        refusals: ['MAIL_FAILED'],
      },
    },
    async ({ mailer }, { subjectStr, bodyTxtStr, bodyHtmlStr, vars, to }, context) => {
      const { actor, folder, read, note } = context
      const client = await read((tx) => tx.clients.find(actor.credential?.facts.clientId ?? ''))
      const owner = client?.email ?? actor.email
      const receiver = to === null ? owner : requireEmail(to, 'UNPROCESSABLE', 'to')
      if (receiver === null) {
        throw new SatchelError(
          'UNPROCESSABLE',
          'The client of this token has no e-mail address: name a receiver with --to',
          { reason: 'to' },
        )
      }
      const route = await mailer.route()
      if (receiver !== owner && route?.isOwn === false && !folder.keepsMails()) {
        throw new SatchelError(
          'NOT_AUTHORIZED',
          'Test mails to others need a mail server of the database: satchel mail set',
          { reason: 'to' },
        )
      }
      const parts = { subject: subjectStr, text: bodyTxtStr, html: bodyHtmlStr }
      await note()
      await mailer.tryTemplates(receiver, parts, vars)
      return { ok: true, emailReceiver: receiver }
    },
  ),

  /** All of them, where `template.reset` is for one. */
  'template.clear': onDatabase(
    {
      scopes: DOORS.resetTemplates,
      effect: 'destroy',
      summary: 'Return to the built-in mail templates',
      input: {},
      rest: {
        operationId: 'resetTemplates',
        address: 'POST /templates/reset',
        description: 'Removes the templates and the test data of the database.',
        curl: '{}',
        examples: { Nothing: {} },
        answer: {
          description: 'How many the database had.',
          schema: schemaOf({ ok, numResetTemplates: whole }),
          example: ['None', { ok: true, numResetTemplates: 0 }],
        },
      },
    },
    async (_host, _input, { write }) => ({
      ok: true,
      numResetTemplates: await write(resetTemplates),
    }),
  ),
}
