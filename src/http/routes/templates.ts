import { type AnyElysia, Elysia } from 'elysia'
import { requireStanding, requireWriter } from '../../domain/access/actor'
import type { TemplateFile } from '../../domain/store/mailer'
import { requireEmail } from '../../domain/value/email'
import { SatchelError } from '../../domain/value/error'
import { isRecord } from '../../domain/value/value'
import { answer } from '../answer'
import { bearer } from '../bearer'
import type { Authorised } from '../caller'
import type { HttpContext } from '../context'
import { answerFields } from '../answer-fields'
import { expected, type Fields, MOST_BYTES, requireText } from '../body/fields'

/** The mail templates of a database, as files of the public command line client (protocol.md §9.3). */
export function templateRoutes(http: HttpContext): AnyElysia {
  return new Elysia({ name: 'templates' })
    .use(bearer(http))
    .get(
      '/:database/templates/pull',
      async ({ call, host, actor }) => {
        const files = await host.database.read((tx) => {
          requireStanding(tx, actor)
          return host.mailer.templates.list(tx)
        })
        return answer(call, JSON.stringify(files))
      },
      { door: 'pullTemplates', parse: 'none', detail: { operationId: 'pullTemplates' } },
    )
    .post(
      '/:database/templates/push',
      async ({ call, host, actor }) => {
        await host.database.read((tx) => requireWriter(tx, actor, host.clock.now()))
        return await http.bodies.json(
          call,
          { scratch: host.scratch, maxBytes: MOST_BYTES },
          async (body) => {
            const templates = await host.mailer.templates.check(requireFiles(body))
            const numUpdatedTemplates = await host.database.write((tx) => {
              requireWriter(tx, actor, host.clock.now())
              return host.mailer.templates.store(tx, templates)
            })
            return answer(call, JSON.stringify({ ok: true, numUpdatedTemplates }))
          },
        )
      },
      { door: 'pushTemplates', parse: 'none', detail: { operationId: 'pushTemplates' } },
    )
    .post(
      '/:database/templates/reset',
      ({ call, host, actor }) =>
        answerFields(http, { call, host, actor }, async () => {
          const numResetTemplates = await host.database.write((tx) => {
            requireWriter(tx, actor, host.clock.now())
            return host.mailer.templates.reset(tx)
          })
          return { ok: true, numResetTemplates }
        }),
      { door: 'resetTemplates', parse: 'none', detail: { operationId: 'resetTemplates' } },
    )
    .post(
      '/:database/templates/test-send',
      ({ call, host, actor }) =>
        answerFields(http, { call, host, actor }, (body) =>
          sendTest(http, { call, host, actor }, body),
        ),
      { door: 'testTemplate', parse: 'none', detail: { operationId: 'testTemplate' } },
    )
}

/**
 * Mails templates that are not stored to the owner of the client. Another address needs a mail server of
 * the database itself, or development: the server's own is not for mails to anybody.
 */
async function sendTest(http: HttpContext, { host, actor }: Authorised, body: Fields) {
  const { vars = {}, to } = body
  if (!isRecord(vars)) throw expected('vars', 'an object')
  const parts = {
    subject: requireText(body, 'subjectStr'),
    text: requireText(body, 'bodyTxtStr'),
    html: requireText(body, 'bodyHtmlStr'),
  }
  const own = await host.database.read((tx) => {
    requireStanding(tx, actor)
    const client = tx.clients.find(actor.credential?.facts.clientId ?? '')
    return client?.email ?? actor.email
  })
  const receiver = to === undefined || to === null ? own : requireEmail(to, 'UNPROCESSABLE', 'to')
  if (receiver === null) {
    throw new SatchelError(
      'UNPROCESSABLE',
      'The client of this token has no e-mail address: name a receiver with --to',
      { reason: 'to' },
    )
  }
  const route = await host.mailer.route()
  if (receiver !== own && route?.isOwn === false && !http.origins.isDevelopment()) {
    throw new SatchelError(
      'NOT_AUTHORIZED',
      'Test mails to others need a mail server of the database: satchel mail set',
      { reason: 'to' },
    )
  }
  await host.mailer.tryTemplates(receiver, parts, vars)
  return { ok: true, emailReceiver: receiver }
}

function requireFiles(files: unknown): TemplateFile[] {
  const isFile = (file: unknown): file is TemplateFile =>
    isRecord(file) && typeof file['path'] === 'string' && typeof file['content'] === 'string'
  if (Array.isArray(files) && files.every(isFile)) return files
  throw new SatchelError('UNPROCESSABLE', 'The body must be an array of {path, content}')
}
