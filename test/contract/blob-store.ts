import { describe, expect, test } from 'bun:test'
import type { Arrival, BlobContent } from '../../src/domain/store/blob-store'
import { SatchelError } from '../../src/domain/value/error'
import { codeOf, HOUR } from '../auth/setup'
import {
  ANY_SIZE,
  bring,
  chunksOf,
  hashOf,
  listed,
  type OpenBlobStore,
  textAt,
} from './content-fixture'
import { describeBlobRaces } from './content-races'

/**
 * The contract of a place for bytes (src/domain/store/blob-store.ts): one that passes is done.
 * `openStore` opens an empty store in a place of its own.
 */
export function describeBlobStore(name: string, openStore: OpenBlobStore): void {
  describe(`${name} blob store`, () => {
    describeArrivals(openStore)
    describeKeeping(openStore)
    describeReading(openStore)
    describeRemoval(openStore)
    describeSweeping(openStore)
    describeBlobRaces(openStore)
  })
}

const refuse = () => Promise.reject(new SatchelError('CONFLICT', 'taken'))
const textOf = (content: BlobContent) => new Response(content.body()).text()

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
        expect([arrival.hash, arrival.size]).toEqual([hashOf(bytes), bytes.length])
        await arrival.keep(async () => undefined)
        const found = await fixture.store.open(arrival.place, bytes.length)
        expect(found.size).toBe(bytes.length)
        expect((await new Response(found.stream()).bytes()).length).toBe(bytes.length)
        expect(await fixture.store.check(arrival.place, arrival.hash)).toBe('whole')
      }
    })

    test('have a place each, equal contents too', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const first = await bring(store, 'abc')
      await store.remove(first.place)
      const places = [first, await bring(store, 'abc'), await bring(store, 'abc')].map(
        ({ place }) => place,
      )
      expect(new Set(places).size).toBe(3)
      expect(await listed(store)).toEqual(places.slice(1).toSorted())
    })

    test('cannot be found before they are kept, and are gone when they are not', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      {
        await using arrival = await store.receive(chunksOf('abc'), ANY_SIZE)
        expect(await listed(store)).toEqual([])
        expect(() => arrival.place).toThrow('only kept bytes have a place')
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

    test('that break off leave nothing, and throw the error of their source', async () => {
      await using fixture = await openStore()
      async function* broken() {
        yield Buffer.alloc(1_000_000)
        throw new SatchelError('INVALID_REQUEST', 'it broke off')
      }
      expect(await codeOf(() => fixture.store.receive(broken(), ANY_SIZE))).toBe('INVALID_REQUEST')
      expect(await listed(await fixture.reopen())).toEqual([])
    })

    test('under way end when the store is closed, and no other begins', async () => {
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
    test('stores the bytes before it records them, and gives what was recorded', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const { place } = await bring(store, 'other')
      const keep = async () => {
        await using arrival = await store.receive(chunksOf('abc'), ANY_SIZE)
        expect(await arrival.keep(() => textAt(store, arrival.place, 3))).toBe('abc')
        return arrival.place
      }
      const kept = await keep()
      const again = await fixture.reopen()
      expect(await textAt(again, kept, 3)).toBe('abc')
      expect(await listed(again)).toEqual([place, kept].toSorted())
    })

    test('stores bytes that another process can read', async () => {
      await using fixture = await openStore()
      const { place } = await bring(fixture.store, 'abc')
      expect(await textAt(fixture.another(), place, 3)).toBe('abc')
    })

    test('removes the bytes when nothing was recorded, and only those', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const { place } = await bring(store, 'abc')
      await using arrival = await store.receive(chunksOf('abc'), ANY_SIZE)
      expect(await codeOf(() => arrival.keep(refuse))).toBe('CONFLICT')
      expect(await listed(store)).toEqual([place])
    })

    test('equal contents at the same time keeps those that are recorded', async () => {
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
      expect(await listed(store)).toEqual([arrivals[5]?.place ?? ''])
    })
  })
}

function describeReading(openStore: OpenBlobStore): void {
  describe('reading', () => {
    test('gives all bytes or a slice, as a stream or as a body', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const { place } = await bring(store, 'abcdef')
      const content = await store.open(place, 6)
      expect(await textOf(content)).toBe('abcdef')
      const slice = content.slice(1, 4)
      expect(slice.size).toBe(3)
      expect(await textOf(slice)).toBe('bcd')
      expect(await new Response(slice.stream()).text()).toBe('bcd')
      expect(await textOf(slice.slice(1, 2))).toBe('c')
    })

    test('tells bytes that are missing, too few, or others', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const [short, other] = [await bring(store, 'abc'), await bring(store, 'def')]
      await fixture.damage(short.place, 'shorter')
      await fixture.damage(other.place, 'other')
      expect(await codeOf(() => store.open(short.place, 3))).toBe('BLOB_DAMAGED')
      expect(await store.check(short.place, short.hash)).toBe('damaged')
      expect(await store.check(other.place, other.hash)).toBe('damaged')
      await store.remove(short.place)
      expect(await codeOf(() => store.open(short.place, 3))).toBe('BLOB_DAMAGED')
      expect(await store.check(short.place, short.hash)).toBe('missing')
    })

    test('reports how far a check is', async () => {
      await using fixture = await openStore()
      const { place, hash } = await bring(fixture.store, Buffer.alloc(1_500_000))
      const counts: number[] = []
      await fixture.store.check(place, hash, (count) => void counts.push(count))
      expect(counts.length).toBeGreaterThan(1)
      expect(counts.reduce((sum, count) => sum + count)).toBe(1_500_000)
    })
  })
}

function describeRemoval(openStore: OpenBlobStore): void {
  describe('removal', () => {
    test('removes the bytes, and is no error when they are gone already', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const [one, two] = [await bring(store, 'one'), await bring(store, 'two')]
      await store.remove(one.place)
      await store.remove(one.place)
      expect(await listed(store)).toEqual([two.place])
    })

    test('lets a reader finish who has begun', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const bytes = Buffer.alloc(3_000_000, 'abcdefg')
      const { place } = await bring(store, bytes)
      const reader = (await store.open(place, bytes.length)).stream()[Symbol.asyncIterator]()
      const read = [(await reader.next()).value ?? Buffer.alloc(0)]
      await store.remove(place)
      for (let next = await reader.next(); next.done !== true; next = await reader.next()) {
        read.push(next.value)
      }
      expect(Buffer.concat(read).equals(bytes)).toBe(true)
    })

    test('finds the places that were stored before a time', async () => {
      await using fixture = await openStore()
      const { store, clock } = fixture
      const { place } = await bring(store, 'old')
      clock.advance(HOUR)
      await bring(store, 'young')
      expect(await Array.fromAsync(store.list(clock.now()))).toEqual([place])
      expect(await listed(store)).toHaveLength(2)
    })
  })
}

function describeSweeping(openStore: OpenBlobStore): void {
  const claimed = () => Promise.reject(new Error('asked'))

  describe('sweeping', () => {
    test('removes unfinished uploads of an ended process', async () => {
      await using fixture = await openStore()
      await using arrival = await fixture.store.receive(chunksOf('abc'), ANY_SIZE)
      expect(arrival.size).toBe(3)
      const crashed = await fixture.crash()
      await crashed.sweep(Infinity, claimed)
      expect(await listed(crashed)).toEqual([])
      const { place } = await bring(crashed, 'abc')
      expect(await textAt(crashed, place, 3)).toBe('abc')
    })

    for (const isUsed of [true, false]) {
      test(`${isUsed ? 'leaves' : 'removes'} what was ${isUsed ? '' : 'not '}recorded`, async () => {
        await using fixture = await openStore()
        const other = await bring(fixture.store, 'other')
        fixture.clock.advance(1)
        await using arrival = await fixture.store.receive(chunksOf('abc'), ANY_SIZE)
        const crashed = await arrival.keep(() => fixture.crash())
        const asked: string[] = []
        await crashed.sweep(Infinity, async (place) => {
          asked.push(place)
          return isUsed
        })
        expect(asked).toEqual([arrival.place])
        const kept = isUsed ? [arrival.place] : []
        expect(await listed(crashed)).toEqual([other.place, ...kept].toSorted())
        await crashed.sweep(Infinity, claimed)
      })
    }

    test('leaves what another process began a short while ago', async () => {
      await using fixture = await openStore()
      const { store, clock } = fixture
      const neighbour = fixture.another()
      await using arrival = await neighbour.receive(chunksOf('abc'), ANY_SIZE)
      await using recording = await neighbour.receive(chunksOf('def'), ANY_SIZE)
      clock.advance(HOUR)
      await recording.keep(() => store.sweep(clock.now() - HOUR, claimed))
      await arrival.keep(async () => undefined)
      expect(await textAt(store, arrival.place, 3)).toBe('abc')
      expect(await textAt(store, recording.place, 3)).toBe('def')
    })

    test('finds nothing in a store that was never used', async () => {
      await using fixture = await openStore()
      await fixture.store.sweep(Infinity, claimed)
      expect(await listed(fixture.store)).toEqual([])
    })
  })
}
