import { describe, expect, test } from 'bun:test'
import type { Arrival, BlobContent } from '../../src/domain/store/blob-store'
import { SatchelError } from '../../src/domain/value/error'
import { codeOf } from '../auth/setup'
import {
  ANY_SIZE,
  bring,
  chunksOf,
  hashOf,
  listed,
  type OpenBlobStore,
  textIn,
} from './content-fixture'
import { describeBlobRaces } from './content-races'

/**
 * The contract of a store for bytes (src/domain/store/blob-store.ts): one that passes is done.
 * `openStore` opens an empty store in a folder of its own.
 */
export function describeBlobStore(name: string, openStore: OpenBlobStore): void {
  describe(`${name} blob store`, () => {
    describeArrivals(openStore)
    describeKeeping(openStore)
    describeReading(openStore)
    describeRemoval(openStore)
    describeCrash(openStore)
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
        const found = await fixture.store.open(arrival.file, bytes.length)
        expect(found.size).toBe(bytes.length)
        expect((await new Response(found.stream()).bytes()).length).toBe(bytes.length)
        expect(await fixture.store.check(arrival.file, arrival.hash)).toBe('whole')
      }
    })

    test('are in one file if they are equal, whose name begins with their hash', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const [one, two] = [await bring(store, 'abc'), await bring(store, 'abc')]
      expect(one.file).toStartWith(hashOf('abc'))
      expect(two.file).toBe(one.file)
      expect(await listed(store)).toEqual([one.file])
    })

    test('cannot be found before they are kept, and are gone when they are not', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      {
        await using arrival = await store.receive(chunksOf('abc'), ANY_SIZE)
        expect(await listed(store)).toEqual([])
        expect(arrival.hash).toBe(hashOf('abc'))
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
      const other = await bring(store, 'other')
      const keep = async () => {
        await using arrival = await store.receive(chunksOf('abc'), ANY_SIZE)
        expect(await arrival.keep(() => textIn(store, arrival.file, 3))).toBe('abc')
        return arrival.file
      }
      const kept = await keep()
      const again = await fixture.reopen()
      expect(await textIn(again, kept, 3)).toBe('abc')
      expect(await listed(again)).toEqual([other.file, kept].toSorted())
    })

    test('removes the bytes when nothing was recorded, and only those', async () => {
      await using fixture = await openStore()
      const { store, records } = fixture
      const other = await bring(store, 'other')
      const known = await bring(store, 'known')
      records.add(known.file)
      for (const bytes of ['abc', 'known']) {
        await using arrival = await store.receive(chunksOf(bytes), ANY_SIZE)
        expect(await codeOf(() => arrival.keep(refuse))).toBe('CONFLICT')
      }
      expect(await listed(store)).toEqual([other.file, known.file].toSorted())
      expect(await textIn(store, known.file, 5)).toBe('known')
    })

    test('equal contents at the same time keeps the file while one of them is recorded', async () => {
      for (const isRecorded of [true, false]) {
        await using fixture = await openStore()
        const { store, records } = fixture
        await using stack = new AsyncDisposableStack()
        const arrivals: Arrival[] = []
        for (let n = 0; n < 8; n += 1) {
          arrivals.push(stack.use(await store.receive(chunksOf('ab', 'c'), ANY_SIZE)))
        }
        const outcomes = await Promise.allSettled(
          arrivals.map((arrival, n) =>
            arrival.keep(async () => {
              await Bun.sleep(n === 5 ? 1 : (n % 3) * 5)
              if (n !== 5 || !isRecorded) throw new SatchelError('CONFLICT', 'taken')
              records.add(arrival.file)
            }),
          ),
        )
        expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBe(+isRecorded)
        expect(await listed(store)).toEqual(isRecorded ? [arrivals[5]?.file ?? ''] : [])
      }
    })

    test('writes known bytes in full, which repairs those that are damaged or missing', async () => {
      await using fixture = await openStore()
      const { store, records } = fixture
      const { file, hash } = await bring(store, 'abc')
      records.add(file)
      for (const how of ['shorter', 'other'] as const) {
        await fixture.damage(file, how)
        expect(await store.check(file, hash)).toBe('damaged')
        expect((await bring(store, 'abc')).file).toBe(file)
        expect(await store.check(file, hash)).toBe('whole')
      }
    })
  })
}

function describeReading(openStore: OpenBlobStore): void {
  describe('reading', () => {
    test('gives all bytes or a slice, as a stream or as a body', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const { file } = await bring(store, 'abcdef')
      const content = await store.open(file, 6)
      expect(await textOf(content)).toBe('abcdef')
      const slice = content.slice(1, 4)
      expect(slice.size).toBe(3)
      expect(await textOf(slice)).toBe('bcd')
      expect(await new Response(slice.stream()).text()).toBe('bcd')
      expect(await textOf(slice.slice(1, 2))).toBe('c')
    })

    test('gives them in pieces that share their memory', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const bytes = Buffer.from(Array.from({ length: 300_001 }, (_, n) => n % 251))
      const { file } = await bring(store, bytes)
      const content = await store.open(file, bytes.length)
      for (const [begin, end] of [
        [0, bytes.length],
        [5, 200_000],
        [7, 7],
      ] as const) {
        const buffers = new Set<ArrayBufferLike>()
        const found: Buffer[] = []
        for await (const piece of content.slice(begin, end).pieces()) {
          buffers.add(piece.buffer)
          found.push(Buffer.from(piece))
        }
        expect(Buffer.concat(found).equals(bytes.subarray(begin, end))).toBe(true)
        expect(buffers.size).toBe(begin === end ? 0 : 1)
      }
    })

    test('tells bytes that are missing, too few, or others', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const [short, other] = [await bring(store, 'abc'), await bring(store, 'def')]
      await fixture.damage(short.file, 'shorter')
      await fixture.damage(other.file, 'other')
      expect(await codeOf(() => store.open(short.file, 3))).toBe('BLOB_DAMAGED')
      expect(await store.check(short.file, short.hash)).toBe('damaged')
      expect(await store.check(other.file, other.hash)).toBe('damaged')
      await store.remove(short.file)
      expect(await codeOf(() => store.open(short.file, 3))).toBe('BLOB_DAMAGED')
      expect(await store.check(short.file, short.hash)).toBe('missing')
    })

    test('reports how far a check is', async () => {
      await using fixture = await openStore()
      const { file, hash } = await bring(fixture.store, Buffer.alloc(1_500_000))
      const counts: number[] = []
      await fixture.store.check(file, hash, (count) => void counts.push(count))
      expect(counts.length).toBeGreaterThan(1)
      expect(counts.reduce((sum, count) => sum + count)).toBe(1_500_000)
    })

    test('ends a check when its caller has enough', async () => {
      await using fixture = await openStore()
      const { file, hash } = await bring(fixture.store, Buffer.alloc(1_500_000))
      const enough = new Error('enough')
      let calls = 0
      const checking = fixture.store.check(file, hash, () => {
        calls += 1
        throw enough
      })
      expect(await checking.catch((error: unknown) => error)).toBe(enough)
      expect(calls).toBe(1)
    })
  })
}

function describeRemoval(openStore: OpenBlobStore): void {
  describe('removal', () => {
    test('removes the bytes, and is no error when they are gone already', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const [one, two] = [await bring(store, 'one'), await bring(store, 'two')]
      await store.remove(one.file)
      await store.remove(one.file)
      expect(await listed(store)).toEqual([two.file])
    })

    test('lets a reader finish who has begun', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const bytes = Buffer.alloc(3_000_000, 'abcdefg')
      const { file } = await bring(store, bytes)
      const reader = (await store.open(file, bytes.length)).stream()[Symbol.asyncIterator]()
      const read = [(await reader.next()).value ?? Buffer.alloc(0)]
      await store.remove(file)
      for (let next = await reader.next(); next.done !== true; next = await reader.next()) {
        read.push(next.value)
      }
      expect(Buffer.concat(read).equals(bytes)).toBe(true)
    })

    test('leaves what a record names, and what an upload is about to record', async () => {
      await using fixture = await openStore()
      const { store, records } = fixture
      const { file } = await bring(store, 'abc')
      records.add(file)
      await store.remove(file)
      expect(await listed(store)).toEqual([file])
      records.clear()
      await using arrival = await store.receive(chunksOf('abc'), ANY_SIZE)
      await arrival.keep(async () => {
        await store.remove(file)
        expect(await listed(store)).toEqual([])
        expect(await textIn(store, file, 3)).toBe('abc')
        records.add(file)
      })
      expect(await textIn(store, file, 3)).toBe('abc')
    })

    test('that is delayed never takes bytes that were stored again', async () => {
      await using fixture = await openStore()
      const { store, records } = fixture
      const { file } = await bring(store, 'abc')
      const asked = Promise.withResolvers<void>()
      const answered = Promise.withResolvers<void>()
      fixture.onLook = async () => {
        asked.resolve()
        await answered.promise
      }
      const removal = store.remove(file)
      await asked.promise
      const upload = async () => {
        await using arrival = await store.receive(chunksOf('abc'), ANY_SIZE)
        await arrival.keep(async () => void records.add(arrival.file))
      }
      const stored = upload()
      answered.resolve()
      await Promise.all([removal, stored])
      expect(await textIn(store, file, 3)).toBe('abc')
      await store.remove(file)
      expect(await textIn(store, file, 3)).toBe('abc')
    })

    test('looks again for each call: the record may have gone since the last look', async () => {
      await using fixture = await openStore()
      const { store, records } = fixture
      const { file } = await bring(store, 'abc')
      records.add(file)
      const first = store.remove(file)
      fixture.onLook = async () => records.clear()
      await Promise.all([first, store.remove(file)])
      expect(await listed(store)).toEqual([])
    })

    test('that fails to look leaves the file', async () => {
      await using fixture = await openStore()
      const { store } = fixture
      const { file } = await bring(store, 'abc')
      fixture.onLook = () => Promise.reject(new SatchelError('BUSY', 'closing'))
      expect(await codeOf(() => store.remove(file))).toBe('BUSY')
      expect(await listed(store)).toEqual([file])
    })
  })
}

function describeCrash(openStore: OpenBlobStore): void {
  describe('a store that is opened after a crash', () => {
    test('removes unfinished uploads of an ended process', async () => {
      await using fixture = await openStore()
      await using arrival = await fixture.store.receive(chunksOf('abc'), ANY_SIZE)
      expect(arrival.size).toBe(3)
      const crashed = await fixture.crash()
      expect(await listed(crashed)).toEqual([])
      const { file } = await bring(crashed, 'abc')
      expect(await textIn(crashed, file, 3)).toBe('abc')
    })

    test('leaves the files of uploads that were about to be recorded, to be found as all others', async () => {
      await using fixture = await openStore()
      const other = await bring(fixture.store, 'other')
      await using arrival = await fixture.store.receive(chunksOf('abc'), ANY_SIZE)
      const crashed = await arrival.keep(() => fixture.crash())
      expect(await listed(crashed)).toEqual([other.file, arrival.file].toSorted())
    })
  })
}
