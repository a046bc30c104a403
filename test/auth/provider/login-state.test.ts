import { describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { createLoginStates } from '../../../src/auth/provider/login-state'
import { newSecret } from '../../../src/domain/value/secret'
import { codeOf, createTestClock, DAY, HOUR, MINUTE } from '../setup'

const LOGIN = { provider: 'google', redirect: 'https://app.example.com/?x=1#y' }

function setup(clock = createTestClock(), key = new Uint8Array(32).fill(7), database = 'db') {
  return { clock, states: createLoginStates(key, database, clock) }
}

test('comes back as it was sealed, by a clock that is years ahead or behind', async () => {
  for (const offset of [0, -10 * 365 * DAY]) {
    const clock = createTestClock()
    clock.advance(offset)
    const { states } = setup(clock)
    const browser = newSecret()
    const { id, text, proof } = await states.begin(LOGIN, browser)
    clock.advance(30 * MINUTE - 1000)
    const state = await states.open(text)
    expect(state).toMatchObject({ id, ...LOGIN })
    expect(states.prove(state, browser)).toEqual(proof)
  }
})

test('its proof follows from the state and the browser, and is another for each', async () => {
  const { states } = setup()
  const [one, two] = [newSecret(), newSecret()]
  const begun = [
    await states.begin(LOGIN, one),
    await states.begin(LOGIN, one),
    await states.begin(LOGIN, two),
  ]
  const proofs = begun.flatMap(({ proof }) => [proof.verifier, proof.nonce])
  expect(new Set(proofs).size).toBe(6)
  for (const proof of proofs) expect(proof).toMatch(/^[\w-]{43}$/)
  const state = await states.open(begun[0]?.text ?? '')
  for (const browser of [two, '', undefined, `${one} `]) {
    expect(await codeOf(() => states.prove(state, browser))).toBe('INVALID_REQUEST')
  }
})

describe('refuses', () => {
  const { states, clock } = setup()
  const key = Buffer.alloc(32, 7)
  const payload = {
    jti: 'x',
    aud: 'db',
    ...LOGIN,
    browser: 'x',
    exp: Math.floor((clock.now() + HOUR) / 1000),
  }
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signed = (header: object, secret: string | Buffer = key) => {
    const text = `${encode(header)}.${encode(payload)}`
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
  }

  test.each([
    ['nothing', ''],
    ['no JWT', 'a.b.c'],
    ['no signature', `${encode({ alg: 'none', typ: 'state+jwt' })}.${encode(payload)}.`],
    ['the secret key itself', signed({ alg: 'HS256', typ: 'state+jwt' })],
    ['an empty key', signed({ alg: 'HS256', typ: 'state+jwt' }, '')],
    [
      'a key of its own',
      signed({ alg: 'HS256', typ: 'state+jwt', jwk: { kty: 'oct', k: '' } }, ''),
    ],
  ])('a value sealed with %s', async (_, text) => {
    expect(await codeOf(() => states.open(text))).toBe('INVALID_REQUEST')
  })

  test('a value sealed by another database, with another key, or missing', async () => {
    const { text } = await states.begin(LOGIN, newSecret())
    const others = [
      setup(clock, new Uint8Array(32).fill(8)).states,
      setup(clock, new Uint8Array(32).fill(7), 'other').states,
    ]
    for (const other of others) {
      expect(await codeOf(() => other.open(text))).toBe('INVALID_REQUEST')
    }
    expect(await codeOf(() => states.open(null))).toBe('INVALID_REQUEST')
    expect(await codeOf(() => states.open(`${text}x`))).toBe('INVALID_REQUEST')
  })
})
