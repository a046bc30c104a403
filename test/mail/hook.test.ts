import { describe, expect, spyOn, test } from 'bun:test'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import { createOutbound } from '../../src/net/outbound'
import { MINUTE } from '../auth/setup'
import { ALICE, HOOK_SECRET, otpLetter, setupMailer } from './setup'

describe('a web hook', () => {
  test('can verify its requests, with the same id for every attempt (Standard Webhooks)', async () => {
    const verified: unknown[] = []
    const ids: (string | null)[] = []
    await using hook = startHook(async (request) => {
      const text = await request.text()
      const headers = Object.fromEntries(request.headers)
      // The server signs with the clock of the test, the library reads that of the machine.
      const time = Number(headers['webhook-timestamp']) * 1000
      using machine = spyOn(Date, 'now').mockReturnValue(time)
      expect(machine).not.toHaveBeenCalled()
      verified.push(new StandardWebhook(HOOK_SECRET).verify(text, headers))
      expect(() => new StandardWebhook(HOOK_SECRET).verify(`${text} `, headers)).toThrow()
      ids.push(request.headers.get('webhook-id'))
      return new Response(null, { status: ids.length === 1 ? 500 : 202 })
    })
    await using server = await setupMailer({ address: hook.url })
    await server.post()
    await server.mailer.idle()
    server.clock.advance(MINUTE)
    // Another mail makes the outbox look at the first one again.
    await server.post(otpLetter(server.clock))
    await server.mailer.idle()
    expect(verified).toMatchObject([{ to: ALICE }, { to: ALICE }, { to: ALICE }])
    for (const id of ids) expect(id).toMatch(/^msg_[\w-]{16}$/)
    expect(ids.slice(1)).toContain(ids[0]!)
    expect(new Set(ids).size).toBe(2)
  })

  test('of a database has a secret of its own, a new one whenever its address is set', async () => {
    await using server = await setupMailer()
    const secrets = [
      await server.mailer.configure({ address: 'https://hooks.example.com/' }),
      await server.mailer.configure({ address: 'https://hooks.example.com/' }),
    ]
    for (const secret of secrets) expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    expect(new Set(secrets).size).toBe(2)
    expect(await server.mailer.configure({ sender: 'Me <me@example.com>' })).toBeNull()
    expect(await server.mailer.configure({ address: 'smtp://127.0.0.1:1' })).toBeNull()
    expect(JSON.stringify(await server.mailer.route())).not.toContain('whsec_')
  })

  test('gets the mail, its words and what they are made of', async () => {
    const requests: unknown[] = []
    await using hook = startHook(async (request) => {
      requests.push({ type: request.headers.get('content-type'), body: await request.json() })
      return new Response(null, { status: 202 })
    })
    await using server = await setupMailer({ address: hook.url })
    const letter = otpLetter(server.clock)
    await server.post(letter)
    await server.mailer.idle()
    expect(requests).toEqual([
      {
        type: 'application/json',
        body: {
          type: 'otp',
          to: ALICE,
          from: { name: 'Test', address: 'test@example.com' },
          subject: 'K7QM2XWD is your code for app.example.com',
          text: expect.stringContaining('K7QM2XWD'),
          html: expect.stringContaining('K7QM2XWD'),
          variables: letter.variables,
        },
      },
    ])
    expect(await server.waiting()).toBe(0)
  })

  test('on a private address gets nothing unless it is allowed to (promise 32)', async () => {
    let calls = 0
    await using hook = startHook(() => {
      calls += 1
      return new Response(null)
    })
    const call = createOutbound({ allowed: null })
    await using server = await setupMailer({ address: hook.url, call })
    await server.post()
    await server.mailer.idle()
    expect(server.failures).toEqual([
      { to: ALICE, message: expect.stringContaining('not a public address'), isFinal: false },
    ])
    expect(calls).toBe(0)
  })

  test.each([
    [422, true],
    [401, false],
    [429, false],
    [500, false],
  ])('that answers %d ends it: %p', async (status, isFinal) => {
    await using hook = startHook(() => new Response(null, { status }))
    await using server = await setupMailer({ address: hook.url })
    await server.post()
    await server.mailer.idle()
    expect(server.failures).toEqual([
      { to: ALICE, message: `The mail hook answered ${status}`, isFinal },
    ])
    expect(await server.waiting()).toBe(isFinal ? 0 : 1)
  })
})

function startHook(fetch: (request: Request) => Response | Promise<Response>) {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch })
  return {
    url: `http://127.0.0.1:${server.port}/mail`,
    [Symbol.asyncDispose]: () => server.stop(true),
  }
}
