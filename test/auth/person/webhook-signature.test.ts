import { expect, test } from 'bun:test'
import { Webhook } from 'standardwebhooks'
import { signWebhook } from '../../../src/auth/person/webhook-signature'

const SECRETS = [
  'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD8ERxUS1pB8Q=',
] as const

test('is the one that others have published', () => {
  const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}' }
  expect(signWebhook(message, SECRETS.slice(0, 1), 1_614_265_330_999)).toEqual({
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  })
})

test('is verified by the library of the standard, with each of the secrets and no other', () => {
  const body = JSON.stringify({ userId: 'ünï@example.com', email: 'ünï@example.com' })
  const headers = signWebhook({ id: 'msg_1', body }, SECRETS, Date.now())
  for (const secret of SECRETS) {
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body))
    expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow('No matching')
    const other = { ...headers, 'webhook-id': 'msg_2' }
    expect(() => new Webhook(secret).verify(body, other)).toThrow('No matching')
  }
  expect(() => new Webhook('whsec_bm9uZQ==').verify(body, headers)).toThrow('No matching')
  const late = signWebhook({ id: 'msg_1', body }, SECRETS, Date.now() - 6 * 60_000)
  expect(() => new Webhook(SECRETS[0]).verify(body, late)).toThrow('too old')
})
