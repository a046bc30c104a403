import { describe, expect, test } from 'bun:test'
import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createAuthority } from '../../../src/auth/authority'
import { openSecretKey } from '../../../src/auth/key/secret-key'
import { folderOf, refusalOf, setupAuthority, setupStore } from '../setup'

describe('the secret key of a database', () => {
  test('is made at the first start, for its owner only, and read at the next', async () => {
    await using base = await setupStore()
    const database = await base.store.create('main')
    const folder = folderOf(database)
    const made = await openSecretKey(database, folder, null)
    expect(made.length).toBe(32)
    expect((await stat(join(folder, 'secret.key'))).mode & 0o777).toBe(0o600)
    expect(await openSecretKey(database, folder, null)).toEqual(made)
    expect((await readdir(folder)).filter((name) => name.includes('secret'))).toEqual([
      'secret.key',
    ])
  })

  test('is the configured one when there is one, and then no file is made', async () => {
    await using base = await setupStore()
    const database = await base.store.create('main')
    const folder = folderOf(database)
    const configured = new Uint8Array(32).fill(7)
    expect(await openSecretKey(database, folder, configured)).toEqual(configured)
    expect(await readdir(folder)).not.toContain('secret.key')
  })

  test('is not made anew when it is lost, since it would open nothing', async () => {
    await using base = await setupAuthority()
    const folder = folderOf(base.database)
    const path = join(folder, 'secret.key')
    await rm(path)
    const refusal = await refusalOf(() => openSecretKey(base.database, folder, null))
    expect(refusal.code).toBe('STORAGE_FAILED')
    expect(refusal.message).toContain(path)
    expect(refusal.message).toContain('SATCHEL_SECRET_KEY')
    expect(await readdir(folder)).not.toContain('secret.key')
  })

  test('is refused when the file does not hold one', async () => {
    await using base = await setupStore()
    const database = await base.store.create('main')
    const folder = folderOf(database)
    for (const text of ['', 'short', `${'A'.repeat(43)}\nA`, 'A'.repeat(44)]) {
      await writeFile(join(folder, 'secret.key'), text)
      const refusal = await refusalOf(() => openSecretKey(database, folder, null))
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
