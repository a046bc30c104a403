import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { HOUR, MINUTE } from '../auth/setup'
import { wrongCode } from '../auth/otp-setup'
import { satchelJson } from '../binary/setup'
import { until } from '../timing'
import { type Application, openApplication, setupServed } from './addon/setup'

/** conformance.md 68–78: the published add-on logs in at the executable, its login unchanged. */

const ALICE = 'alice@example.com'
const FOO = 'foo@demo.local'
/** So wrong that every access token looks old, and each `login()` refreshes. */
const AHEAD = 20 * HOUR

type Served = Awaited<ReturnType<typeof setupServed>>

/** From the first prompt to the end: the person types the code that their mail brings. */
async function logIn(app: Application, served: Served, hints: Readonly<Record<string, string>>) {
  const login = app.begin({ do: 'login', hints })
  expect(await app.dialog()).toMatchObject({ type: 'otp', alerts: [{ messageCode: 'OTP_SENT' }] })
  await app.perform({ do: 'submit', fields: { otp: await served.code() } })
  await login.end()
}

async function importDemoUser({ surroundings }: Served): Promise<void> {
  await Bun.write(join(surroundings.cwd, 'demo.json'), `{"demoUsers":{"${FOO}":{}}}`)
  await satchelJson(['import', 'demo.json'], surroundings)
}

describe('the add-on', () => {
  test('68, 69, 76: logs in with a code, and asks again for one that is wrong', async () => {
    await using served = await setupServed()
    await using app = await openApplication(served.main)
    const login = app.begin({ do: 'login', hints: { email: 'Alice@Example.com' } })
    expect(await app.dialog()).toMatchObject({ type: 'otp', fields: ['otp'] })
    const otp = await served.code()
    for (const typed of [wrongCode(otp), '']) {
      await app.perform({ do: 'submit', fields: { otp: typed } })
      const { type, alerts } = await app.dialog()
      expect(type).toBe('otp')
      expect(alerts.at(-1)).toMatchObject({
        messageCode: 'INVALID_OTP',
        message: expect.stringMatching(/^This code is wrong: you can try|^Type the code/),
      })
    }
    await app.perform({ do: 'submit', fields: { otp } })
    await login.end()
    const user = await app.user()
    expect(user).toMatchObject({
      userId: ALICE,
      email: ALICE,
      isLoggedIn: true,
      license: { type: 'prod', status: 'ok' },
      refreshToken: expect.any(String),
      isKeyExtractable: false,
    })
    expect(user.expires).toBeGreaterThan(Date.now() + 5 * MINUTE)
    const headers = { authorization: `Bearer ${user.accessToken}` }
    expect((await fetch(`${served.main}/my/realms`, { headers })).status).toBe(200)
    await app.perform({ do: 'restart' })
    expect(await app.user()).toMatchObject({ userId: ALICE, isLoggedIn: true })
  })

  test('69, 72: begins anew when a code was tried too often', async () => {
    await using served = await setupServed()
    await using app = await openApplication(served.main)
    app.begin({ do: 'login', hints: { email: ALICE } })
    await app.dialog()
    const otp = wrongCode(await served.code())
    for (let tries = 0; tries < 5; tries++) {
      await app.perform({ do: 'submit', fields: { otp } })
      if (tries < 4) expect((await app.dialog()).type).toBe('otp')
    }
    expect(await app.dialog()).toMatchObject({
      type: 'email',
      alerts: [{ messageCode: 'OTP_EXPIRED', message: expect.stringContaining('a new one') }],
    })
  })

  test('70: logs in with what a link in a mail holds', async () => {
    await using served = await setupServed()
    const answer = await fetch(`${served.main}/token`, {
      method: 'POST',
      body: JSON.stringify({ grant_type: 'otp', email: ALICE, scopes: ['ACCESS_DB'] }),
    })
    const { otp_id: otpId } = (await answer.json()) as { otp_id: string }
    await using app = await openApplication(served.main)
    await app.perform({ do: 'login', hints: { otpId, otp: await served.code() } })
    expect(await app.user()).toMatchObject({ userId: ALICE, refreshToken: expect.any(String) })
  })

  test('71: logs in as a demo user that was imported, and is told of one that was not', async () => {
    await using served = await setupServed()
    await importDemoUser(served)
    await using app = await openApplication(served.main)
    await app.perform({ do: 'login', hints: { email: FOO } })
    expect(await app.user()).toMatchObject({ userId: FOO, email: FOO, license: { type: 'demo' } })
    await using other = await openApplication(served.main)
    other.begin({ do: 'login', hints: { email: 'bar@demo.local' } })
    expect(await other.dialog()).toMatchObject({
      type: 'email',
      alerts: [{ messageCode: 'USER_NOT_REGISTERED' }],
    })
  })

  test.each([
    [{}, 'USER_NOT_REGISTERED'],
    [{ intent: 'login' }, 'USER_NOT_REGISTERED'],
    [{ intent: 'register' }, 'USER_NOT_ACCEPTED'],
  ])('72: says with the hints %p that sign-up is closed: %s', async (hints, code) => {
    await using served = await setupServed()
    await satchelJson(['policy', 'set', '--new-users', 'reject'], served.surroundings)
    await using app = await openApplication(served.main)
    app.begin({ do: 'login', hints: { email: ALICE, ...hints } })
    await app.dialog()
    await app.perform({ do: 'submit', fields: { otp: await served.code() } })
    expect(await app.dialog()).toMatchObject({ type: 'email', alerts: [{ messageCode: code }] })
    expect((await app.user()).isLoggedIn).not.toBe(true)
  })

  test('73, 74, 75: refreshes with its first refresh token, again and again, its clock being wrong', async () => {
    await using served = await setupServed()
    await using app = await openApplication(served.main, { clockAhead: AHEAD })
    await logIn(app, served, { email: ALICE })
    const { refreshToken, accessToken } = await app.user()
    const seen = new Set([accessToken])
    for (let times = 0; times < 4; times++) {
      if (times === 3) await app.perform({ do: 'restart' })
      await app.perform({ do: 'login' })
      await until(async () => !seen.has((await app.user()).accessToken))
      const user = await app.user()
      expect(user).toMatchObject({ userId: ALICE, refreshToken, isKeyExtractable: false })
      seen.add(user.accessToken)
      const headers = { authorization: `Bearer ${user.accessToken}` }
      expect((await fetch(`${served.main}/my/realms`, { headers })).status).toBe(200)
    }
  })

  test('73: refreshes by itself before it syncs, when the token is about to end', async () => {
    await using served = await setupServed({ SATCHEL_MAX_EXPIRES_IN: '240' })
    await importDemoUser(served)
    await using app = await openApplication(served.main)
    await app.perform({ do: 'login', hints: { email: FOO } })
    const { accessToken } = await app.user()
    await until(async () => (await app.user()).accessToken !== accessToken)
    expect(await app.user()).toMatchObject({ userId: FOO, isLoggedIn: true })
  })

  test('77: learns from a refresh that its user is deactivated, and is back again', async () => {
    await using served = await setupServed()
    await using app = await openApplication(served.main, { clockAhead: AHEAD })
    await logIn(app, served, { email: ALICE })
    // A sync that begins before the deactivation and is refused would be its last until a restart.
    await app.perform({ do: 'sync' })
    for (const [command, status] of [
      ['deactivate', 'deactivated'],
      ['reactivate', 'ok'],
    ] as const) {
      await satchelJson(['user', command, ALICE], served.surroundings)
      await until(async () => {
        // It syncs first, and a user who is deactivated may not.
        await app.perform({ do: 'login' }).catch((error: unknown) => {
          expect(String(error)).toContain('403')
        })
        return (await app.user()).license?.status === status
      })
      expect(await app.user()).toMatchObject({ userId: ALICE, license: { status } })
    }
  })

  test('78: logs in as another for the owner of a client that may do everything', async () => {
    await using served = await setupServed()
    const bob = 'bob@example.com'
    await satchelJson(['user', 'add', bob], served.surroundings)
    const scopes = 'ACCESS_DB,GLOBAL_READ,GLOBAL_WRITE'
    const client = ['client', 'create', '--scopes', scopes, '--email', ALICE]
    await satchelJson(client, served.surroundings)
    await using app = await openApplication(served.main)
    await logIn(app, served, { email: `${ALICE} as ${bob}` })
    expect(await app.user()).toMatchObject({ userId: bob, email: bob })
  })
})
