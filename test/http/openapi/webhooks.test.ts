import { expect, test } from 'bun:test'
import { readVerdict } from '../../../src/domain/user/webhook'
import { setupWebhook, startHook } from '../../auth/webhook-setup'
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
