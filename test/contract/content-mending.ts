import { describe, expect, test } from 'bun:test'
import { SatchelError } from '../../src/domain/value/error'
import { codeOf } from '../auth/setup'
import { ANY_SIZE, bring, chunksOf, type OpenBlobStore } from './content-fixture'

/** An acknowledged upload is complete, even if a damaged file was there before. */
export function describeMending(openStore: OpenBlobStore): void {
  describe('mending, when the same bytes come again,', () => {
    test('brings back bytes that were lost', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const hash = await bring(store, 'abc')
      expect(await store.check(hash)).toBe('whole')
      await fixture.damage(hash, 'shorter')
      expect(await store.check(hash)).toBe('damaged')
      expect(await codeOf(() => store.open(hash, 3))).toBe('BLOB_DAMAGED')
      await bring(store, 'abc')
      expect(await store.check(hash)).toBe('whole')
    })

    for (const size of [1, 1_000_000, 2_500_000]) {
      test(`brings back bytes that are others now, of ${size}`, async () => {
        await using fixture = await openStore()
        const { store } = fixture
        const bytes = Buffer.alloc(size, 'abcdefg')
        const hash = await bring(store, bytes)
        await fixture.damage(hash, 'other')
        expect(await store.check(hash)).toBe('damaged')
        await bring(store, bytes)
        expect(await store.check(hash)).toBe('whole')
      })
    }

    test('stays though nothing is recorded', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const hash = await bring(store, 'abc')
      await fixture.damage(hash, 'other')
      await using arrival = await store.receive(chunksOf('abc'), ANY_SIZE)
      const refuse = () => Promise.reject(new SatchelError('CONFLICT', 'taken'))
      expect(await codeOf(() => arrival.keep(refuse))).toBe('CONFLICT')
      expect(await store.check(hash)).toBe('whole')
    })
  })
}
