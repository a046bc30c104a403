import { describe, expect, test } from 'bun:test'
import type { Policy } from '../../../src/domain/user/policy'
import type { Vault } from '../../../src/domain/store/vault'
import {
  findWebhook,
  readVerdict,
  rotateWebhookSecret,
  setPolicy,
} from '../../../src/domain/user/webhook'
import { codeOf, refusalOf, setupStore } from '../../auth/setup'
import { DAY } from '../../../src/domain/value/time'

const NOW = 1_000_000
const url = 'https://app.example.com/hook'
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/

/** Reverses, so that a sealed text differs from its plain text. */
const turned = (text: string) => text.split('').toReversed().join('')
const vault: Vault = { seal: turned, open: turned }

async function setup() {
  const base = await setupStore()
  const database = await base.store.create('main')
  return {
    database,
    set: (changes: Partial<Policy>) => database.write((tx) => setPolicy(tx, vault, changes)),
    rotate: (days?: number) => database.write((tx) => rotateWebhookSecret(tx, vault, NOW, days)),
    find: (now = NOW) => database.read((tx) => findWebhook(tx, vault, now)),
    [Symbol.asyncDispose]: () => base[Symbol.asyncDispose](),
  }
}

describe('a web hook', () => {
  test('gets a secret with its first address, which is told once and kept sealed', async () => {
    await using scene = await setup()
    expect(await scene.find()).toBeUndefined()
    const { policy, hookSecret } = await scene.set({ newUsers: 'webhook', hookUrl: url })
    expect(policy).toMatchObject({ newUsers: 'webhook', hookUrl: url })
    expect(hookSecret).toMatch(SECRET)
    expect(await scene.find()).toEqual({ url, secrets: [hookSecret!] })
    const kept = await scene.database.read((tx) => tx.settings.list())
    expect(JSON.stringify(kept)).not.toContain(hookSecret!)
    expect(await scene.set({ seats: 5 })).toMatchObject({ hookSecret: null })
    const moved = { hookUrl: `${url}/2` }
    expect(await scene.set(moved)).toMatchObject({ hookSecret: null })
    expect(await scene.find()).toEqual({ url: `${url}/2`, secrets: [hookSecret!] })
  })

  test('that was removed and comes back gets another secret', async () => {
    await using scene = await setup()
    const first = await scene.set({ hookUrl: url })
    expect(await scene.set({ hookUrl: null })).toMatchObject({ hookSecret: null })
    expect(await scene.find()).toBeUndefined()
    const second = await scene.set({ hookUrl: url })
    expect(second.hookSecret).toMatch(SECRET)
    expect(second.hookSecret).not.toBe(first.hookSecret)
  })

  test('is asked with the old secret besides the new one, for a week unless it is said', async () => {
    await using scene = await setup()
    const { hookSecret: first } = await scene.set({ hookUrl: url })
    const { hookSecret: second, oldSecretUntil } = await scene.rotate()
    expect(second).toMatch(SECRET)
    expect(oldSecretUntil).toBe(NOW + 7 * DAY)
    expect((await scene.find(oldSecretUntil - 1))?.secrets).toEqual([second, first!])
    expect((await scene.find(oldSecretUntil))?.secrets).toEqual([second])
    const { hookSecret: third } = await scene.rotate(0)
    expect((await scene.find())?.secrets).toEqual([third])
  })

  test('has no secret to rotate while there is none, nor for a time that makes no sense', async () => {
    await using scene = await setup()
    expect((await refusalOf(() => scene.rotate())).message).toContain('--hook-url')
    await scene.set({ hookUrl: url })
    for (const days of [-1, 366, Number.NaN]) {
      expect(await codeOf(() => scene.rotate(days))).toBe('UNPROCESSABLE')
    }
  })
})

// protocol.md §13.1
describe('the answer of a web hook', () => {
  test.each(['prod', 'eval', 'reject'] as const)('is %s', (action) => {
    expect(readVerdict({ ok: true, action })).toEqual({ action })
    expect(readVerdict({ ok: true, action, userData: null, more: 1 })).toEqual({ action })
    const userData = { displayName: 'Ada', email: null, team: { id: [1] } }
    expect(readVerdict({ ok: true, action, userData })).toEqual({ action, data: userData })
  })

  test.each([
    [null, 'no object'],
    ['prod', 'no object'],
    [[{ ok: true, action: 'prod' }], 'no object'],
    [{}, '"ok"'],
    [{ action: 'prod' }, '"ok"'],
    [{ ok: 1, action: 'prod' }, '"ok"'],
    [{ ok: 'true', action: 'prod' }, '"ok"'],
    [{ ok: false, action: 'prod' }, '"ok" is false'],
    [{ ok: true }, '"action"'],
    [{ ok: true, action: 'demo' }, '"action"'],
    [{ ok: true, action: 'PROD' }, '"action"'],
    [{ ok: true, action: ['prod'] }, '"action"'],
    [JSON.parse('{"__proto__":{"ok":true,"action":"prod"}}'), '"ok"'],
    [{ ok: true, action: 'prod', userData: 'Ada' }, '"userData"'],
    [{ ok: true, action: 'prod', userData: [] }, '"userData"'],
    [{ ok: true, action: 'prod', userData: { displayName: 1 } }, '"userData"'],
    [{ ok: true, action: 'prod', userData: { email: {} } }, '"userData"'],
    [{ ok: true, action: 'prod', userData: { x: 'x'.repeat(65_536) } }, '"userData"'],
  ])('is no verdict when it is %j', async (answer, word) => {
    const { code, message } = await refusalOf(() => readVerdict(answer))
    expect(code).toBe('UNPROCESSABLE')
    expect(message).toContain(word)
  })
})
