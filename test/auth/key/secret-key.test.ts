import { describe, expect, test } from 'bun:test'
import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createAuthority } from '../../../src/auth/authority'
import { openSecretKey } from '../../../src/auth/key/secret-key'
import { refusalOf, setupAuthority, setupStore } from '../setup'

describe('the secret key of a database', () => {
  test('is made at the first start, for its owner only, and read at the next', async () => {
    await using base = await setupStore()
    const database = await base.store.create('main')
    const made = await openSecretKey(database, null)
    expect(made.length).toBe(32)
    expect((await stat(join(database.folder, 'secret.key'))).mode & 0o777).toBe(0o600)
    expect(await openSecretKey(database, null)).toEqual(made)
    expect((await readdir(database.folder)).filter((name) => name.includes('secret'))).toEqual([
      'secret.key',
    ])
  })

  test('is the configured one when there is one, and then no file is made', async () => {
    await using base = await setupStore()
    const database = await base.store.create('main')
    const configured = new Uint8Array(32).fill(7)
    expect(await openSecretKey(database, configured)).toEqual(configured)
    expect(await readdir(database.folder)).not.toContain('secret.key')
  })

  test('is not made anew when it is lost, since it would open nothing', async () => {
    await using base = await setupAuthority()
    const path = join(base.database.folder, 'secret.key')
    await rm(path)
    const refusal = await refusalOf(() => openSecretKey(base.database, null))
    expect(refusal.code).toBe('STORAGE_FAILED')
    expect(refusal.message).toContain(path)
    expect(refusal.message).toContain('SATCHEL_SECRET_KEY')
    expect(await readdir(base.database.folder)).not.toContain('secret.key')
  })

  test('is refused when the file does not hold one', async () => {
    await using base = await setupStore()
    const database = await base.store.create('main')
    for (const text of ['', 'short', `${'A'.repeat(43)}\nA`, 'A'.repeat(44)]) {
      await writeFile(join(database.folder, 'secret.key'), text)
      const refusal = await refusalOf(() => openSecretKey(database, null))
      expect(refusal.code).toBe('STORAGE_FAILED')
      expect(refusal.message).toContain('secret.key')
    }
  })

  test('stops the start when it is that of another database', async () => {
    await using base = await setupAuthority()
    const other = new Uint8Array(32).fill(7)
    const refusal = await refusalOf(() => createAuthority(base.database, base.clock, other))
    expect(refusal.code).toBe('STORAGE_FAILED')
    expect(refusal.message).toContain('sealed with another key')
  })
})
