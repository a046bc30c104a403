import { describe, expect, test } from 'bun:test'
import type { AskWebhook } from '../../../src/auth/person/admission'
import { withRedeemed } from '../../../src/auth/grant/grant'
import { SatchelError } from '../../../src/domain/value/error'
import type { Verdict } from '../../../src/domain/user/policy'
import type { Database } from '../../../src/domain/store/store'
import { ALICE, setupOtp } from '../otp-setup'
import { codeOf, MINUTE, refusalOf } from '../setup'

const UNDECIDED = new SatchelError('WEBHOOK_ERROR', 'No decision')

/** People log in by e-mail, and a web hook decides about newcomers; its answers are in a list. */
async function setup(...says: (Verdict['action'] | SatchelError)[]) {
  let asked = 0
  const askWebhook: AskWebhook = async () => {
    const said = says[asked++]
    if (said instanceof SatchelError) throw said
    return { action: said ?? 'prod' }
  }
  const server = await setupOtp({ askWebhook })
  await server.setPolicy({ newUsers: 'webhook', hookUrl: 'https://app.example.com/hook' })
  const otpId = await server.ask()
  const { otp } = await server.mail()
  const request = { grant_type: 'otp', otp_id: otpId, otp, scopes: ['ACCESS_DB'] }
  return {
    ...server,
    bring: (changes: object = {}) => server.tokens({ ...request, ...changes }),
    get asked() {
      return asked
    },
  }
}

describe('a code whose holder cannot be decided about', () => {
  test('is good for another try', async () => {
    await using server = await setup(UNDECIDED, UNDECIDED, 'eval')
    expect(await codeOf(() => server.bring())).toBe('WEBHOOK_ERROR')
    expect(await codeOf(() => server.bring({ email: ALICE }))).toBe('WEBHOOK_ERROR')
    expect(await server.bring()).toMatchObject({ userType: 'eval' })
    expect(await codeOf(() => server.bring())).toBe('OTP_EXPIRED')
    expect(server.asked).toBe(3)
  })

  test('is poorer by a try each time', async () => {
    await using server = await setup(...Array.from({ length: 9 }, () => UNDECIDED))
    const codes = []
    for (let tries = 0; tries < 6; tries += 1) codes.push(await codeOf(() => server.bring()))
    expect(codes).toEqual([...Array.from({ length: 5 }, () => 'WEBHOOK_ERROR'), 'OTP_EXPIRED'])
    expect(server.asked).toBe(5)
  })

  test('lives no longer for that', async () => {
    await using server = await setup(UNDECIDED)
    expect(await codeOf(() => server.bring())).toBe('WEBHOOK_ERROR')
    server.clock.advance(10 * MINUTE)
    expect(await codeOf(() => server.bring())).toBe('OTP_EXPIRED')
    expect(server.asked).toBe(1)
  })

  test('is given back too when the store had no time', async () => {
    const busy = new SatchelError('BUSY', 'Busy', { retryAfter: 1 })
    await using server = await setup(busy, 'prod')
    expect(await codeOf(() => server.bring())).toBe('BUSY')
    expect(await server.bring()).toMatchObject({ userType: 'prod' })
  })

  test('is used up meanwhile for everybody else', async () => {
    await using server = await setup(UNDECIDED, 'prod')
    const refusals = await Promise.all([
      codeOf(() => server.bring()),
      codeOf(() => server.bring()),
      codeOf(() => server.bring()),
    ])
    expect(refusals.toSorted()).toEqual(['OTP_EXPIRED', 'OTP_EXPIRED', 'WEBHOOK_ERROR'])
    expect(await server.bring()).toMatchObject({ userType: 'prod' })
  })
})

test('the first error is reported, also if the code cannot be restored', async () => {
  await using server = await setupOtp()
  const otpId = await server.ask()
  const code = await server.database.read((tx) => tx.codes.find(otpId))
  const failing: Database = {
    ...server.database,
    write: () => Promise.reject(new SatchelError('BUSY', 'Busy')),
  }
  const work = () => Promise.reject(UNDECIDED)
  expect(await refusalOf(() => withRedeemed(failing, code!, work))).toBe(UNDECIDED)
})

test('a code whose holder is rejected is used up', async () => {
  await using server = await setup('reject', 'prod')
  expect(await codeOf(() => server.bring())).toBe('USER_NOT_REGISTERED')
  expect(await codeOf(() => server.bring())).toBe('OTP_EXPIRED')
  expect(server.asked).toBe(1)
})
