import { expect, test } from 'bun:test'
import { sameSecret } from '../../src/domain/value/secret'
import { median } from '../bench/statistics'

/** Welch's t over 100,000 samples is for `bun run lab --only 23`. */

const EQUALS = String.raw`\w*\)?\s*[!=]==?(?!=|\s*(?:undefined|null|''|\d))`
const COMPARED = new RegExp(String.raw`\b\w*(?:secret|otp|signature|password)${EQUALS}`, 'i')
const COMPARED_WITH_HASHES = new RegExp(
  String.raw`\b\w*(?:secret|otp|signature|password|hash)${EQUALS}`,
  'i',
)

test('promise 23: secrets and their hashes are compared by one function and by nothing else', async () => {
  const suspects: string[] = []
  const callers: string[] = []
  for await (const path of new Bun.Glob('src/**/*.ts').scan('.')) {
    const text = await Bun.file(path).text()
    if (path === 'src/domain/value/secret.ts') continue
    if (text.includes('timingSafeEqual')) suspects.push(path)
    if (text.includes('sameSecret(')) callers.push(path)
    // Other files have hashes of contents, which are no secrets.
    const knowsSecretHashes = /hashSecret|secretHash|OtpHash/.test(text)
    const [compared] = (knowsSecretHashes ? COMPARED_WITH_HASHES : COMPARED).exec(text) ?? []
    if (compared !== undefined) suspects.push(`${path}: ${compared}`)
  }
  expect(suspects).toEqual([])
  // Authorization codes and refresh tokens are looked up by their SHA-256, never compared.
  expect(callers).toContain('src/domain/database/client.ts')
  expect(callers).toContain('src/auth/otp/otp-redemption.ts')
  expect(callers).toContain('src/auth/provider/login-state.ts')
  expect(callers).toContain('src/control/listener.ts')
})

test('promise 23: it does not stop at the first difference', () => {
  const kept = 'k'.repeat(2_000_000)
  const [early, late] = [`!${kept.slice(1)}`, `${kept.slice(0, -1)}!`]
  const rounds = Array.from(
    { length: 15 },
    () => [timeOf(early, kept), timeOf(late, kept)] as const,
  )
  // A comparison that stops takes a millionth of the time.
  const soonest = median(rounds.map(([time]) => time))
  expect(soonest).toBeGreaterThan(median(rounds.map(([, time]) => time)) / 10)
})

function timeOf(given: string, kept: string): number {
  const begin = performance.now()
  expect(sameSecret(given, kept)).toBe(false)
  return performance.now() - begin
}
