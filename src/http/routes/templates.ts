import { type AnyElysia, Elysia } from 'elysia'
import { requireStanding, requireWriter } from '../../domain/access/actor'
import { requireEmail } from '../../domain/value/email'
import { SatchelError } from '../../domain/value/error'
import { isRecord } from '../../domain/value/value'
import { answer } from '../answer'
import { bearer } from '../bearer'
import type { Authorised } from '../caller'
import type { HttpContext } from '../context'
import { expected, type Fields, MOST_BYTES, requireFields, requireText } from '../body/fields'

/** The mail that tries templates out (protocol.md §9.3). */
export function templateRoutes(http: HttpContext): AnyElysia {
  return new Elysia({ name: 'templates' }).use(bearer(http)).post(
    '/:database/templates/test-send',
    async ({ call, host, actor }) => {
      const { database, clock, scratch } = host
      await database.read((tx) => requireWriter(tx, actor, clock.now()))
      return await http.bodies.json(call, { scratch, maxBytes: MOST_BYTES }, async (body) => {
        const sent = await sendTest(http, { call, host, actor }, requireFields(body))
        return answer(call, JSON.stringify(sent))
      })
    },
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
