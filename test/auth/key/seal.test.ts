import { describe, expect, test } from 'bun:test'
import { hkdfSync, randomBytes } from 'node:crypto'
import { deriveKey, seal, sealAsync, unseal, unsealAsync } from '../../../src/auth/key/seal'
import { refusalOf } from '../setup'

const key = new Uint8Array(randomBytes(32))

describe('a sealed text', () => {
  test('opens with its key and its label', () => {
    for (const text of ['', 'a secret', 'åäö 用户', 'x'.repeat(10_000)]) {
      expect(unseal(key, seal(key, text, 'label'), 'label')).toBe(text)
    }
  })

  test('shows nothing of the text and is another one each time', () => {
    const sealed = seal(key, 'a secret', 'label')
    expect(sealed).toMatch(/^v1\.[\w-]+$/)
    expect(Buffer.from(sealed.slice(3), 'base64url').toString('latin1')).not.toContain('a secret')
    expect(seal(key, 'a secret', 'label')).not.toBe(sealed)
  })

  test('does not open with another key, and says what to do', async () => {
    const refusal = await refusalOf(() =>
      unseal(new Uint8Array(randomBytes(32)), seal(key, 'a secret', 'label'), 'label'),
    )
    expect(refusal.code).toBe('STORAGE_FAILED')
    expect(refusal.message).toContain('secret.key')
    expect(refusal.message).toContain('SATCHEL_SECRET_KEY')
    expect(refusal.message).not.toContain('a secret')
  })

  test('does not open in the place of another', async () => {
    const sealed = seal(key, 'a secret', 'label')
    expect((await refusalOf(() => unseal(key, sealed, 'other'))).code).toBe('STORAGE_FAILED')
  })

  test('does not open when anything of it was changed', async () => {
    const sealed = seal(key, 'a secret', 'label')
    const bytes = Buffer.from(sealed.slice(3), 'base64url')
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes)
      changed[at]! ^= 1
      const text = `v1.${changed.toString('base64url')}`
      expect((await refusalOf(() => unseal(key, text, 'label'))).code).toBe('STORAGE_FAILED')
    }
    for (const text of ['', 'v1.', 'v1.AAAA', 'v2.AAAA', sealed.slice(0, -4)]) {
      expect((await refusalOf(() => unseal(key, text, 'label'))).code).toBe('STORAGE_FAILED')
    }
  })

  test('is the same whether it is sealed and opened at once or later', async () => {
    for (const text of ['', 'a secret', 'åäö 用户', 'x'.repeat(10_000)]) {
      expect(unseal(key, await sealAsync(key, text, 'label'), 'label')).toBe(text)
      expect(await unsealAsync(key, seal(key, text, 'label'), 'label')).toBe(text)
    }
  })

  test('does not open later either with another key, another label, or another text', async () => {
    const sealed = await sealAsync(key, 'a secret', 'label')
    const other = new Uint8Array(randomBytes(32))
    const attempts = [
      [other, sealed, 'label'],
      [key, sealed, 'other'],
      [key, `${sealed.slice(0, -4)}AAAA`, 'label'],
      [key, 'v1.', 'label'],
      [key, sealed.replace('v1', 'v2'), 'label'],
    ] as const
    for (const [opener, text, label] of attempts) {
      const refusal = await refusalOf(() => unsealAsync(opener, text, label))
      expect(refusal.code).toBe('STORAGE_FAILED')
      expect(refusal.message).not.toContain('a secret')
    }
  })
})

describe('a derived key', () => {
  test('is that of HKDF with SHA-256', () => {
    for (const salt of ['', 'a salt', 'x'.repeat(100)]) {
      const expected = new Uint8Array(hkdfSync('sha256', key, salt, 'a purpose', 32))
      expect(new Uint8Array(deriveKey(key, salt, 'a purpose'))).toEqual(expected)
    }
  })
})
