import { describe, expect, test } from 'bun:test'
import { createVault } from '../../../src/auth/key/seal'
import { createWebhook } from '../../../src/auth/person/webhook'
import { signWebhook } from '../../../src/domain/value/webhook-signature'
import { createOutbound } from '../../../src/net/outbound'
import { codeOf, DAY, refusalOf } from '../setup'
import {
  ALICE,
  type AnswerHook,
  LOOPBACK,
  reasonOf,
  setupWebhook,
  startHook,
  startRawHook,
  verdict,
  verified,
} from '../webhook-setup'
import { Webhook } from 'standardwebhooks'

// protocol.md §13.1
describe('a web hook', () => {
  test('can verify who asks, with the secret it was given and the one after it', async () => {
    using hook = startHook()
    await using scene = await setupWebhook(hook.url)
    const { hookSecret: next } = await scene.webhook.rotate()
    await scene.webhook.ask(ALICE)
    scene.clock.advance(7 * DAY)
    await scene.webhook.ask(ALICE)
    const [during, after] = hook.questions
    const body = { userId: 'alice', email: 'alice@example.com' }
    expect(verified(during!, scene.secret)).toEqual(body)
    expect(verified(during!, next)).toEqual(body)
    expect(after?.headers['webhook-signature']?.split(' ')).toHaveLength(1)
    expect(during?.headers['webhook-id']).toMatch(/^msg_[\w-]{22}$/)
    expect(after?.headers['webhook-id']).not.toBe(during?.headers['webhook-id'])
  })

  test.each([500, 502, 503, 429, 408])(
    'that answers %d is asked again, as the same',
    async (status) => {
      let asked = 0
      using hook = startHook(() => (++asked < 3 ? new Response('', { status }) : verdict('prod')))
      await using scene = await setupWebhook(hook.url)
      expect(await scene.webhook.ask(ALICE)).toEqual({ action: 'prod' })
      expect(new Set(hook.questions.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
      for (const question of hook.questions) verified(question, scene.secret)
    },
  )

  test('that does not answer at first is asked again', async () => {
    let asked = 0
    using hook = startHook(() => (++asked < 2 ? new Promise(() => {}) : verdict('reject')))
    const limits = { total: 60_000, attempt: 500, pauses: Array<number>(50).fill(10) }
    await using scene = await setupWebhook(hook.url, limits)
    expect(await scene.webhook.ask(ALICE)).toEqual({ action: 'reject' })
    expect(hook.questions.length).toBeGreaterThanOrEqual(2)
  })

  test('is asked no more than three times', async () => {
    using hook = startHook(() => new Response('secret words', { status: 500 }))
    expect(await reasonOf(hook.url)).toMatch(/^127\.0\.0\.1:\d+ answers 500$/)
    expect(hook.questions).toHaveLength(3)
  })

  test('gets as much time as there is, however often it is asked', async () => {
    using silent = startHook(() => new Promise(() => {}))
    const limits = { total: 600, attempt: 400, pauses: [10, 20, 30, 40] }
    expect(await reasonOf(silent.url, limits)).toContain('did not answer within')
    // A busy machine may spend all of it on the first.
    expect(silent.questions.length).toBeLessThanOrEqual(2)
  })

  test.each<[string, string, AnswerHook]>([
    ['of an unknown path', 'answers 404', () => new Response('', { status: 404 })],
    ['that does not believe it', 'answers 401', () => new Response('', { status: 401 })],
    ['without a body', 'not valid JSON', () => new Response(null, { status: 204 })],
    ['in HTML', 'not valid JSON', () => new Response('<html>private')],
    ['that is cut', 'not valid JSON', () => new Response('{"ok":true,"action":"prod"')],
    ['in another alphabet', 'UTF-8', () => new Response(new Uint8Array([0x22, 0xff, 0x22]))],
    ['that is no object', 'no object', () => Response.json('private')],
    ['that is not ok', '"ok" is false', () => Response.json({ ok: false, action: 'prod' })],
    ['of another action', '"action"', () => verdict('private')],
    ['with data that is none', '"userData"', () => verdict('prod', ['private'])],
    ['with data that is large', '"userData"', () => verdict('prod', { x: 'x'.repeat(65_536) })],
    ['that is deep', 'nest', () => new Response('['.repeat(100) + ']'.repeat(100))],
    ['that is huge', 'sent too much data', () => verdict('prod', { x: 'x'.repeat(200_000) })],
    ['that redirects', 'redirects (', () => Response.redirect('https://example.com', 307)],
    ['that redirects to itself', 'redirects (', ({ path }) => Response.redirect(path, 302)],
  ])(
    'that gives an answer %s (%s) is believed nothing, and asked once',
    async (_, reason, answer) => {
      using hook = startHook(answer)
      const told = await reasonOf(hook.url)
      expect(told).toContain(reason)
      expect(told).not.toContain('private')
      expect(hook.questions).toHaveLength(1)
    },
  )

  test('that drips is cut', async () => {
    const cut = Promise.withResolvers<void>()
    using hook = await startRawHook((socket) => {
      socket.write(
        'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n',
      )
      const timer = setInterval(() => socket.write(' '), 20)
      socket.on('close', () => {
        clearInterval(timer)
        cut.resolve()
      })
    })
    const limits = { total: 2_000, attempt: 2_000, pauses: [] }
    expect(await reasonOf(hook.url, limits)).toContain('did not answer within')
    await cut.promise
  })

  test('that never stops talking is cut', async () => {
    const cut = Promise.withResolvers<void>()
    using hook = await startRawHook((socket) => {
      socket.on('close', () => cut.resolve())
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      const talk = () => {
        while (socket.writable && socket.write(`10000\r\n${' '.repeat(65_536)}\r\n`));
      }
      socket.on('drain', talk)
      talk()
    })
    expect(await reasonOf(hook.url)).toContain('sent too much data')
    await cut.promise
  })

  test('that hangs up, speaks no HTTP or is not there is a failure', async () => {
    using rude = await startRawHook((socket) => socket.destroy())
    expect(await reasonOf(rude.url)).toContain('cannot be reached')
    using mute = await startRawHook((socket) => socket.end('hello\r\n\r\n'))
    expect(await reasonOf(mute.url)).toContain('cannot be reached')
    const gone = startHook()
    gone[Symbol.dispose]()
    expect(await reasonOf(gone.url)).toContain('cannot be reached: nothing listens there')
  })

  test('without an address is not asked', async () => {
    await using scene = await setupWebhook('https://app.example.com')
    await scene.webhook.setPolicy({ newUsers: 'prod', hookUrl: null })
    expect(await codeOf(() => scene.webhook.ask(ALICE))).toBe('WEBHOOK_ERROR')
    const { message } = await refusalOf(() => scene.webhook.test(ALICE))
    expect(message).toBe(
      'The web hook failed: no address is set: satchel policy set --hook-url sets one',
    )
  })

  test('whose secret another key sealed is a failure of the storage', async () => {
    using hook = startHook()
    await using scene = await setupWebhook(hook.url)
    const { database, clock } = scene
    const vault = createVault(new Uint8Array(32).fill(8))
    const call = createOutbound({ allowed: LOOPBACK })
    const stranger = createWebhook({ database, clock, vault, call })
    expect(await codeOf(() => stranger.ask(ALICE))).toBe('STORAGE_FAILED')
    expect(hook.questions).toHaveLength(0)
  })
})

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
