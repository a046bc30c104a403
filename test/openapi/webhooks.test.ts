import { expect, test } from 'bun:test'
import { readVerdict } from '../../src/domain/user/webhook'
import { setupWebhook, startHook } from '../auth/webhook-setup'
import { sampleLetter, variableNames } from '../../src/mail/samples'
import { ALICE, setupMailer } from '../mail/setup'
import { setupDocument } from './setup'

test('the question to a web hook and its answer are what the document says', async () => {
  await using server = await setupDocument()
  using hook = startHook()
  await using scene = await setupWebhook(hook.url)
  await scene.webhook.ask({ id: 'alice', email: null, name: null })
  const { parameters, requestBody, responses } = server.document.webhooks['newUser']!.post
  const [question] = hook.questions
  const asked = requestBody.content['application/json']!
  const answered = responses['200']?.content?.['application/json']
  const body: unknown = JSON.parse(question?.text ?? '')
  for (const value of [body, asked.examples?.['example']?.value]) {
    expect(server.faults(asked.schema, value)).toEqual([])
  }
  for (const { name, schema } of parameters) {
    expect(server.faults(schema, question?.headers[name])).toEqual([])
  }
  const verdict = answered?.examples?.['example']?.value
  expect(server.faults(answered?.schema, verdict)).toEqual([])
  expect(readVerdict(verdict)).toEqual({ action: 'prod', data: { displayName: 'Alice' } })
})

test('the mails that a web hook gets are what the document says', async () => {
  await using server = await setupDocument()
  const { parameters, requestBody } = server.document.webhooks['mail']!.post
  const { schema, examples } = requestBody.content['application/json']!
  const bodies: unknown[] = []
  using hook = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      bodies.push(await request.json())
      for (const { name, schema: expected } of parameters) {
        expect(server.faults(expected, request.headers.get(name))).toEqual([])
      }
      return new Response(null, { status: 202 })
    },
  })
  await using room = await setupMailer({ address: new URL('mail', hook.url).href })
  for (const kind of ['otp', 'invite'] as const) {
    await room.mailer.trySend(sampleLetter(kind, ALICE, 'main', room.clock.now()))
    const { properties } = server.document.components.schemas[SCHEMAS[kind]] ?? {}
    expect(Object.keys(properties ?? {})).toEqual([...variableNames(kind)])
  }
  expect(bodies).toHaveLength(2)
  for (const body of [...bodies, examples?.['example']?.value]) {
    expect(server.faults(schema, body)).toEqual([])
  }
})

const SCHEMAS = { otp: 'OtpMailVariables', invite: 'InviteMailVariables' } as const
