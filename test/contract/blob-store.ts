import { describe, expect, test } from 'bun:test'
import type { Arrival, BlobStore } from '../../src/domain/store/blob-store'
import { SatchelError } from '../../src/domain/value/error'
import { codeOf } from '../auth/setup'
import { ANY_SIZE, bring, chunksOf, hashOf, listed, type OpenBlobStore } from './content-fixture'
import { describeMending } from './content-mending'
import { describeBlobRaces } from './content-races'

/**
 * The contract of a place for bytes (src/domain/blob/store.ts): one that passes is done.
 * `openStore` opens an empty store in a place of its own.
 */
export function describeBlobStore(name: string, openStore: OpenBlobStore): void {
  describe(`${name} blob store`, () => {
    describeArrivals(openStore)
    describeKeeping(openStore)
    describeMending(openStore)
    describeRemoval(openStore)
    describeRestarts(openStore)
    describeBlobRaces(openStore)
  })
}

async function textOf(store: BlobStore, text: string): Promise<string> {
  return await (await store.open(hashOf(text), text.length)).text()
}

function describeArrivals(openStore: OpenBlobStore): void {
  describe('arrivals', () => {
    test('have the hash and the size of their bytes, for chunks of any size', async () => {
      await using fixture = await openStore()
      const large = Buffer.alloc(3_000_000, 'abcdefg')
      const parts = [large.subarray(0, 1), large.subarray(1, 2_000_001), large.subarray(2_000_001)]
      const singles = Array.from({ length: 5_000 }, (_, n) => large.subarray(n, n + 1))
      for (const [bytes, chunks] of [
        [large, chunksOf(...parts)],
        [large.subarray(0, 5_000), chunksOf(...singles)],
        [Buffer.from('abc'), chunksOf('', 'a', '', 'bc')],
        [Buffer.alloc(0), chunksOf()],
      ] as const) {
        await using arrival = await fixture.store.receive(chunks, ANY_SIZE)
        expect({ ...arrival }).toMatchObject({ hash: hashOf(bytes), size: bytes.length })
        await arrival.keep(async () => undefined)
        const found = await fixture.store.open(hashOf(bytes), bytes.length)
        expect(Buffer.from(await found.arrayBuffer()).equals(bytes)).toBe(true)
      }
    })

    test('are not there before they are kept, and gone when they are not', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      {
        await using arrival = await store.receive(chunksOf('abc'), ANY_SIZE)
        expect(await listed(store)).toEqual([])
        expect(await store.check(arrival.hash)).toBe('missing')
        expect(await codeOf(() => store.open(arrival.hash, 3))).toBe('BLOB_DAMAGED')
      }
      expect(await listed(await fixture.reopen())).toEqual([])
    })

    test('longer than there is room are refused as soon as they are', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      let asked = 0
      async function* endless() {
        for (;;) {
          asked += 1
          yield Buffer.alloc(1_000)
        }
      }
      const room = { ...ANY_SIZE, bytes: 10_000 }
      expect(await codeOf(() => store.receive(endless(), room))).toBe('PAYLOAD_TOO_LARGE')
      expect(asked).toBe(11)
      await using exact = await store.receive(chunksOf(Buffer.alloc(10_000)), room)
      expect(exact.size).toBe(10_000)
    })

    test('that break off leave nothing, and tell why', async () => {
      await using fixture = await openStore()
      async function* broken() {
        yield Buffer.alloc(1_000_000)
        throw new SatchelError('INVALID_REQUEST', 'it broke off')
      }
      expect(await codeOf(() => fixture.store.receive(broken(), ANY_SIZE))).toBe('INVALID_REQUEST')
      expect(await listed(await fixture.reopen())).toEqual([])
    })

    test('that are under way end when the store is closed, and none begins', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const begun = Promise.withResolvers<void>()
      const left = Promise.withResolvers<void>()
      async function* stalled() {
        try {
          begun.resolve()
          yield Buffer.from('abc')
          await Bun.sleep(50)
          yield Buffer.from('def')
        } finally {
          left.resolve()
        }
      }
      const refused = codeOf(() => store.receive(stalled(), ANY_SIZE))
      await begun.promise
      await store[Symbol.asyncDispose]()
      expect(await refused).toBe('BUSY')
      expect(await codeOf(() => store.receive(chunksOf('abc'), ANY_SIZE))).toBe('BUSY')
      expect(await listed(await fixture.reopen())).toEqual([])
      await left.promise
    })
  })
}

function describeKeeping(openStore: OpenBlobStore): void {
  describe('keeping', () => {
    test('puts the bytes in place before it records, and gives what was recorded', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      {
        await using arrival = await store.receive(chunksOf('abc'), ANY_SIZE)
        expect(await arrival.keep(() => textOf(store, 'abc'))).toBe('abc')
      }
      const again = await fixture.reopen()
      expect(await textOf(again, 'abc')).toBe('abc')
      expect(await (await again.open(hashOf('abc'), 3)).slice(1, 2).text()).toBe('b')
      expect(await listed(again)).toEqual([hashOf('abc')])
    })

    test('takes away what it brought when nothing was recorded', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      await using arrival = await store.receive(chunksOf('abc'), ANY_SIZE)
      const refuse = () => Promise.reject(new SatchelError('CONFLICT', 'taken'))
      expect(await codeOf(() => arrival.keep(refuse))).toBe('CONFLICT')
      expect(await listed(store)).toEqual([])
    })

    test('leaves what was there before when nothing was recorded', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      await bring(store, 'abc')
      await using arrival = await store.receive(chunksOf('abc'), ANY_SIZE)
      const refuse = () => Promise.reject(new SatchelError('CONFLICT', 'taken'))
      expect(await codeOf(() => arrival.keep(refuse))).toBe('CONFLICT')
      expect(await textOf(store, 'abc')).toBe('abc')
    })

    test('equal contents at the same time stores them once, whichever of them is recorded', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      await using stack = new AsyncDisposableStack()
      const arrivals: Arrival[] = []
      for (let n = 0; n < 8; n += 1) {
        arrivals.push(stack.use(await store.receive(chunksOf('ab', 'c'), ANY_SIZE)))
      }
      const outcomes = await Promise.allSettled(
        arrivals.map((arrival, n) =>
          arrival.keep(async () => {
            await Bun.sleep(n === 5 ? 1 : (n % 3) * 5)
            if (n !== 5) throw new SatchelError('CONFLICT', 'taken')
          }),
        ),
      )
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      expect(await listed(store)).toEqual([hashOf('abc')])
      expect(await textOf(store, 'abc')).toBe('abc')
    })

    test('tells how far it is with checking', async () => {
      await using fixture = await openStore()
      const hash = await bring(fixture.store, Buffer.alloc(1_500_000))
      const counts: number[] = []
      await fixture.store.check(hash, (count) => void counts.push(count))
      expect(counts.length).toBeGreaterThan(1)
      expect(counts.reduce((sum, count) => sum + count)).toBe(1_500_000)
    })
  })
}

function describeRemoval(openStore: OpenBlobStore): void {
  describe('removal', () => {
    const yes = async () => true

    test('takes the content away, and is content when it is gone already', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const [one, two] = [await bring(store, 'one'), await bring(store, 'two')]
      expect(await store.remove(one, yes)).toBe(true)
      expect(await store.remove(one, yes)).toBe(true)
      expect(await listed(store)).toEqual([two])
    })

    test('does not interrupt a reader', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const bytes = Buffer.alloc(3_000_000, 'abcdefg')
      const hash = await bring(store, bytes)
      const reader = (await store.open(hash, bytes.length)).stream()[Symbol.asyncIterator]()
      const read = [(await reader.next()).value ?? Buffer.alloc(0)]
      expect(await store.remove(hash, yes)).toBe(true)
      for (let next = await reader.next(); next.done !== true; next = await reader.next()) {
        read.push(next.value)
      }
      expect(Buffer.concat(read).equals(bytes)).toBe(true)
    })

    test('leaves what is needed', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const hash = await bring(store, 'one')
      expect(await store.remove(hash, async () => false)).toBe(false)
      expect(await listed(store)).toEqual([hash])
    })

    test('leaves a content that is being kept, without asking', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      await bring(store, 'one')
      await using arrival = await store.receive(chunksOf('one'), ANY_SIZE)
      await arrival.keep(async () => {
        const ask = () => Promise.reject(new Error('asked'))
        expect(await store.remove(arrival.hash, ask)).toBe(false)
      })
      expect(await textOf(store, 'one')).toBe('one')
    })

    test('of a content that comes at that moment lets it come after', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const hash = await bring(store, 'one')
      await using arrival = await store.receive(chunksOf('one'), ANY_SIZE)
      let kept: Promise<unknown> = Promise.resolve()
      const isRemoved = await store.remove(hash, async () => {
        kept = arrival.keep(async () => undefined)
        await Bun.sleep(5)
        return true
      })
      await kept
      expect(isRemoved).toBe(true)
      expect(await textOf(store, 'one')).toBe('one')
    })
  })
}

function describeRestarts(openStore: OpenBlobStore): void {
  describe('after a crash', () => {
    test('sweeping removes unfinished uploads', async () => {
      await using fixture = await openStore()
      await using arrival = await fixture.store.receive(chunksOf('abc'), ANY_SIZE)
      expect(arrival.size).toBe(3)
      const crashed = await fixture.crash()
      await crashed.sweep(() => Promise.reject(new Error('asked')))
      expect(await listed(crashed)).toEqual([])
      expect(await bring(crashed, 'abc')).toBe(hashOf('abc'))
    })

    for (const isUsed of [true, false]) {
      test(`sweeping ${isUsed ? 'leaves' : 'removes'} what was ${isUsed ? '' : 'not '}recorded`, async () => {
        await using fixture = await openStore()
        await bring(fixture.store, 'other')
        await using arrival = await fixture.store.receive(chunksOf('abc'), ANY_SIZE)
        const crashed = await arrival.keep(() => fixture.crash())
        const asked: string[] = []
        await crashed.sweep(async (hash) => {
          asked.push(hash)
          return isUsed
        })
        expect(asked).toEqual([arrival.hash])
        const kept = isUsed ? [arrival.hash] : []
        expect(await listed(crashed)).toEqual([hashOf('other'), ...kept].toSorted())
        await crashed.sweep(() => Promise.reject(new Error('asked again')))
      })
    }
  })
}
