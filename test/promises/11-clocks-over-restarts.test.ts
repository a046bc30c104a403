import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { OTP_LIMITS } from '../../src/auth/limits'
import { DAY, HOUR, MINUTE, SECOND, type TestClock } from '../auth/setup'
import { callerOf, postJson } from '../http/setup'
import { bodyOf, setupLogin } from '../http/login-setup'
import { temporaryFolder, startAgain } from '../setup'
import { copyFolder } from '../sqlite/folders'
import { until } from '../timing'

/** Promise 11: a server clock that jumps back never un-expires a token, over a restart either. */

const scopes = ['ACCESS_DB']

/** A server with a token of its first client and a code of Alice's; both are over in its last minute. */
async function setup() {
  await using undo = new AsyncDisposableStack()
  const folder = undo.use(temporaryFolder())
  const data = join(folder.path, 'data')
  const server = undo.use(await setupLogin({ data }))
  const { clock, client } = server
  const { clientId: client_id, clientSecret: client_secret } = client
  const proof = { grant_type: 'client_credentials', client_id, client_secret, scopes }
  const old = await bodyOf(await server.send(proof))
  clock.advance(HOUR - MINUTE)
  const { otp_id } = await bodyOf(await server.ask())
  const { otp } = (await server.mail()).variables
  clock.advance(11 * MINUTE)
  const told = callerOf(server.main, old.accessToken)
  expect((await told.get('/token/validate')).status).toBe(401)
  expect((await server.give(otp_id, otp)).status).toBe(403)
  const parts = undo.move()
  return {
    clock,
    proof,
    old: old.accessToken,
    code: { grant_type: 'otp', email: 'alice@example.com', scopes, otp_id, otp },
    data,
    stop: () => server[Symbol.asyncDispose](),
    /** The time is written in the background when they are told that it is over. */
    async untilTimeIsKept() {
      using db = new Database(join(data, 'databases', 'main', 'database.sqlite'), {
        readonly: true,
      })
      using kept = db.prepare<{ time: number }, []>('SELECT latest_time AS time FROM database')
      await until(() => kept.get()!.time >= clock.now())
    },
    /** The folder as a kill -9 would leave it now. */
    crash() {
      const copy = join(folder.path, 'crashed')
      copyFolder(data, copy)
      return copy
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

async function restart(data: string, clock: TestClock) {
  const server = await startAgain(data, clock)
  const main = `${server.url}/main`
  const statusOf = async (token: string) =>
    (await callerOf(main, token).get('/token/validate')).status
  return {
    statusOf,
    login: (parameters: object) => postJson(`${main}/token`, parameters),
    warnings: () => server.lines.filter((line) => line.includes('The clock is')),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

describe('promise 11: a clock that was set back while the server was down', () => {
  test.each([30 * MINUTE, 2 * HOUR, 2 * DAY, 3 * DAY, 3650 * DAY])(
    'by %p ms brings nothing to life again',
    async (back) => {
      await using scene = await setup()
      const { clock, code, old } = scene
      await scene.stop()
      for (const jump of [-back, 5 * MINUTE, 5 * MINUTE]) {
        clock.advance(jump)
        await using server = await restart(scene.data, clock)
        expect(await server.statusOf(old)).toBe(401)
        expect((await server.login(code)).status).toBe(403)
        expect(server.warnings().length).toBeLessThanOrEqual(1)
      }
    },
  )

  test('brings nothing to life again after a kill -9 either', async () => {
    await using scene = await setup()
    const { clock, code, old } = scene
    await scene.untilTimeIsKept()
    const data = scene.crash()
    clock.advance(-30 * MINUTE)
    await using server = await restart(data, clock)
    expect(await server.statusOf(old)).toBe(401)
    expect((await server.login(code)).status).toBe(403)
    expect(server.warnings()).toHaveLength(1)
  })

  test('leaves alive what is alive, for as long as it had, and lets everybody in', async () => {
    await using scene = await setup()
    const { clock, proof, data } = scene
    await scene.stop()
    clock.advance(-2 * HOUR)
    let token = ''
    {
      await using server = await restart(data, clock)
      const body = await bodyOf(await server.login(proof))
      token = body.accessToken
      // By the clock that its holder has.
      expect(body).toMatchObject({ accessTokenExpiration: clock.now() + HOUR })
      clock.advance(30 * MINUTE)
      expect(await server.statusOf(token)).toBe(200)
    }
    await using server = await restart(data, clock)
    expect(await server.statusOf(token)).toBe(200)
    clock.advance(30 * MINUTE - SECOND)
    expect(await server.statusOf(token)).toBe(200)
    clock.advance(SECOND)
    expect(await server.statusOf(token)).toBe(401)
  })
})

test('promise 11: a clock that was years ahead locks no user out when it is corrected', async () => {
  await using scene = await setup()
  const { clock, code, proof, data } = scene
  await scene.stop()
  clock.advance(3650 * DAY)
  {
    await using ahead = await restart(data, clock)
    expect((await ahead.login(proof)).status).toBe(200)
    const { grant_type, email } = code
    for (let times = 0; times < OTP_LIMITS.perAddress; times += 1) {
      expect((await ahead.login({ grant_type, email, scopes })).status).toBe(200)
    }
    expect((await ahead.login({ grant_type, email, scopes })).status).toBe(429)
    expect(ahead.warnings()).toEqual([])
  }
  clock.advance(-3650 * DAY)
  {
    await using server = await restart(data, clock)
    expect(server.warnings()).toHaveLength(1)
    expect(await bodyOf(await server.login(proof))).toMatchObject({
      accessTokenExpiration: clock.now() + HOUR,
    })
    const { grant_type, email } = code
    expect((await server.login({ grant_type, email, scopes })).status).toBe(200)
  }
  await using again = await restart(data, clock)
  expect(again.warnings()).toEqual([])
})
