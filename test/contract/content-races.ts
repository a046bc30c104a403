import { describe, expect, test } from 'bun:test'
import { createRandom, type Random } from '../lab/random'
import {
  ANY_SIZE,
  type BlobStoreFixture,
  chunksOf,
  listed,
  type OpenBlobStore,
  textIn,
} from './content-fixture'

const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 5)
const SEED = Number(process.env['SATCHEL_SEED'] ?? 1)

/**
 * Uploads and removals at random moments, of few contents. Recorded blobs can be read whole at any time, and in
 * the end there is nothing else.
 */
export function describeBlobRaces(openStore: OpenBlobStore): void {
  describe('uploads and removals at the same time', () => {
    test(`lose nothing that is recorded and leave nothing else (seed ${SEED})`, async () => {
      for (let run = 0; run < RUNS; run += 1) {
        await using fixture = await openStore()
        const random = createRandom(SEED * 1_000 + run)
        fixture.onLook = () => pause(random)
        await Promise.all(Array.from({ length: 6 }, (_, n) => uploadSome(fixture, n, random)))
        expect(await listed(fixture.store)).toEqual([...fixture.records].toSorted())
        expect(await listed(await fixture.reopen())).toEqual([...fixture.records].toSorted())
      }
    })
  })
}

const CONTENTS = ['a', 'b', 'c', 'd', 'e', 'f']
const STEPS = 8

/** Uploads and removes; the record of each content counts its owners, as blobs with the same bytes do. */
async function uploadSome(
  { store, records }: BlobStoreFixture,
  own: number,
  random: Random,
): Promise<void> {
  const owners = (ownersOf.get(records) ?? ownersOf.set(records, new Map()).get(records))!
  for (let step = 0; step < STEPS; step += 1) {
    const content = random.pick(CONTENTS)
    await using arrival = await store.receive(chunksOf(content), ANY_SIZE)
    const { file } = arrival
    const held = owners.get(file) ?? new Set<number>()
    owners.set(file, held)
    await pause(random)
    try {
      await arrival.keep(async () => {
        await pause(random)
        if (random.next() < 0.3) throw new Error('refused')
        records.add(file)
        held.add(own)
      })
    } catch (error) {
      if (!(error instanceof Error && error.message === 'refused')) throw error
      continue
    }
    await pause(random)
    expect(await textIn(store, file, 1)).toBe(content)
    if (step % 2 === 0) continue
    held.delete(own)
    if (held.size === 0) records.delete(file)
    await store.remove(file)
  }
}

const ownersOf = new WeakMap<Set<string>, Map<string, Set<number>>>()

function pause(random: Random): Promise<void> {
  return random.next() < 0.5 ? Promise.resolve() : Bun.sleep(random.between(0, 2))
}
