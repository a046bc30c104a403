import { expect, test } from 'bun:test'

/** The times of comparisons are for `bun run lab --only 23`. */

test('promise 23: secrets and their hashes are compared by one function', async () => {
  const own: string[] = []
  const callers: string[] = []
  for await (const path of new Bun.Glob('src/**/*.ts').scan('.')) {
    const text = await Bun.file(path).text()
    if (text.includes('timingSafeEqual')) own.push(path)
    if (text.includes('sameSecret(')) callers.push(path)
  }
  expect(own).toEqual(['src/domain/value/secret.ts'])
  // Authorization codes and refresh tokens are looked up by their SHA-256, never compared.
  expect(callers).toContain('src/domain/database/client.ts')
  expect(callers).toContain('src/auth/otp/otp-redemption.ts')
  expect(callers).toContain('src/auth/provider/login-state.ts')
  expect(callers).toContain('src/control/listener.ts')
})
