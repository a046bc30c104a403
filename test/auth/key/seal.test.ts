import { describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { seal, unseal } from '../../../src/auth/key/seal'
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
})
