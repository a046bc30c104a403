import { describe, expect, test } from 'bun:test'
import type { BlobStore } from '../../src/domain/store/blob-store'
import { createRandom, type Random } from '../lab/random'
import { ANY_SIZE, chunksOf, listed, type OpenBlobStore, textAt } from './content-fixture'

const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 5)
const SEED = Number(process.env['SATCHEL_SEED'] ?? 1)

/**
 * Uploads, removals and sweeps of two processes at random moments. The records stand for a database:
 * their places can be read whole at any time, and in the end there are no others.
 */
export function describeBlobRaces(openStore: OpenBlobStore): void {
  describe('uploads and removals at the same time', () => {
    test(`lose nothing that is recorded and leave nothing else (seed ${SEED})`, async () => {
      for (let run = 0; run < RUNS; run += 1) {
        await using fixture = await openStore()
        const random = createRandom(SEED * 1_000 + run)
        const records = new Map<string, string>()
        const stores = [fixture.store, fixture.another()]
        const uploads = Array.from({ length: 6 }, (_, n) =>
          uploadSome(stores[n % 2]!, records, random),
        )
        const sweep = async () => {
          for (let step = 0; step < STEPS; step += 1) {
            const isUsed = async (place: string) => records.has(place)
            await fixture.store.sweep(fixture.clock.now(), isUsed)
            await pause(random)
          }
        }
        await Promise.all([...uploads, sweep()])
        expect(await listed(fixture.store)).toEqual([...records.keys()].toSorted())
        expect(await listed(await fixture.reopen())).toEqual(await listed(fixture.store))
      }
    })
  })
}

const CONTENTS = ['a', 'b', 'c', 'd', 'e', 'f']
const STEPS = 8

async function uploadSome(
  store: BlobStore,
  records: Map<string, string>,
  random: Random,
): Promise<void> {
  for (let step = 0; step < STEPS; step += 1) {
    const content = random.pick(CONTENTS)
    await using arrival = await store.receive(chunksOf(content), ANY_SIZE)
    await pause(random)
    try {
      await arrival.keep(async () => {
        await pause(random)
        if (random.next() < 0.3) throw new Error('refused')
        records.set(arrival.place, content)
      })
    } catch (error) {
      if (!(error instanceof Error && error.message === 'refused')) throw error
      continue
    }
    await pause(random)
    expect(await textAt(store, arrival.place, 1)).toBe(content)
    if (step % 2 === 0) continue
    records.delete(arrival.place)
    await store.remove(arrival.place)
  }
}

function pause(random: Random): Promise<void> {
  return random.next() < 0.5 ? Promise.resolve() : Bun.sleep(random.between(0, 2))
}
