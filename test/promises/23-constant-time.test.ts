import { expect, test } from 'bun:test'
import { sameSecret } from '../../src/domain/value/secret'
import { median } from '../bench/statistics'

/** Welch's t over 100,000 samples is for `bun run lab --only 23`. */

/** Before or after the operator; comparisons with a constant that is no secret are fine. */
function comparisonOf(names: string): RegExp {
  const named = String.raw`\b\w*(?:${names})`
  const before = String.raw`${named}\b\)?\s*[!=]==?(?!=|\s*(?:undefined|null|''|'\w*'|\d))`
  const after = String.raw`(?<!typeof \w*|undefined|null|'\w*'|\d)\s[!=]==?\s*[\w.[\]]*?${named}\b(?!\.length)`
  const method = String.raw`${named}\)?\.(?:equals|localeCompare|startsWith|endsWith)\(|\.(?:equals|localeCompare|includes|indexOf|startsWith|endsWith)\(\w*\.?${named}\)`
  return new RegExp(`${before}|${after}|${method}|Buffer\\.compare\\([^)]*${named}`, 'i')
}

const COMPARED = comparisonOf('secret|otp|signature|password')
/** Other files have hashes of contents, which are no secrets. */
const COMPARED_WITH_HASHES = comparisonOf('secret|otp|signature|password|hash')

function findComparison(text: string): string | undefined {
  const knowsSecretHashes = /hashSecret|secretHash|OtpHash/.test(text)
  return (knowsSecretHashes ? COMPARED_WITH_HASHES : COMPARED).exec(text)?.[0]
}

test.each([
  'if (given.clientSecret === kept) return',
  'if (given !== client.clientSecret) return',
  'const isRight = typed == code.otp',
  'return other.signature.equals(given)',
  'return Buffer.from(given).equals(signature)',
  'return codes.includes(otp)',
  'return Buffer.compare(given, signature) === 0',
  'const id = hashSecret(secret); return client.secretHash === id',
  'const kept = hashSecret(secret); return given === client.secretHash',
])('promise 23: the search finds %s', (line) => {
  expect(findComparison(line)).toBeString()
})

test.each([
  'if (secret === undefined) return',
  "if (parameters['otp'] === '') return",
  "if (typeof otp === 'string') return",
  'return sameSecret(hash(code.id, otp), code.hash)',
])('promise 23: the search leaves out %s', (line) => {
  expect(findComparison(line)).toBeUndefined()
})

test('promise 23: secrets and their hashes are compared by one function and by nothing else', async () => {
  const suspects: string[] = []
  const callers: string[] = []
  for await (const path of new Bun.Glob('src/**/*.ts').scan('.')) {
    const text = await Bun.file(path).text()
    if (path === 'src/domain/value/secret.ts') continue
    if (text.includes('timingSafeEqual')) suspects.push(path)
    if (text.includes('sameSecret(')) callers.push(path)
    // Looks for the code of a sample in a template.
    const compared = path === 'src/mail/templates.ts' ? undefined : findComparison(text)
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
