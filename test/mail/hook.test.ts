import { describe, expect, test } from 'bun:test'
import { createOutbound } from '../../src/net/outbound'
import { ALICE, otpLetter, setupMailer } from './setup'

describe('a web hook', () => {
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
