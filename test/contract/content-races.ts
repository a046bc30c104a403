import { describe, expect, test } from 'bun:test'
import type { BlobStore } from '../../src/domain/store/blob-store'
import { createRandom, type Random } from '../lab/random'
import { ANY_SIZE, chunksOf, hashOf, listed, type OpenBlobStore } from './content-fixture'

const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 5)
const SEED = Number(process.env['SATCHEL_SEED'] ?? 1)

/**
 * Uploaders and a collector who meet at few contents at random moments. The records stand for a
 * database: what they need is there, whole, at any time, and in the end nothing else is.
 */
export function describeBlobRaces(openStore: OpenBlobStore): void {
  describe('uploads and collection at the same time', () => {
    test(`lose nothing that is needed and leave nothing that is not (seed ${SEED})`, async () => {
      for (let run = 0; run < RUNS; run += 1) {
        await using fixture = await openStore()
        const random = createRandom(SEED * 1_000 + run)
        const records = new Map<string, string>()
        const uploaders = Array.from({ length: 6 }, (_, uploader) =>
          uploadSome(fixture.store, records, random, uploader),
        )
        const collectors = Array.from({ length: 2 }, () => collect(fixture.store, records, random))
        await Promise.all([...uploaders, ...collectors])
        for (const content of CONTENTS) await removeUnused(fixture.store, records, content, random)
        expect(await listed(fixture.store)).toEqual([...new Set(records.values())].toSorted())
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
  uploader: number,
): Promise<void> {
  for (let step = 0; step < STEPS; step += 1) {
    const content = random.pick(CONTENTS)
    await using arrival = await store.receive(chunksOf(content), ANY_SIZE)
    await pause(random)
    try {
      await arrival.keep(async () => {
        await pause(random)
        if (random.next() < 0.3) throw new Error('refused')
        records.set(`${uploader}-${step}`, arrival.hash)
      })
      expect(await (await store.open(hashOf(content), 1)).text()).toBe(content)
    } catch (error) {
      if (!(error instanceof Error && error.message === 'refused')) throw error
      continue
    }
    await pause(random)
    // Nothing needs it any more: the collector finds out.
    if (step < STEPS - 1 || uploader > 1) records.delete(`${uploader}-${step}`)
  }
}

async function collect(
  store: BlobStore,
  records: ReadonlyMap<string, string>,
  random: Random,
): Promise<void> {
  for (let step = 0; step < STEPS * 4; step += 1) {
    await removeUnused(store, records, random.pick(CONTENTS), random)
    await pause(random)
  }
}

async function removeUnused(
  store: BlobStore,
  records: ReadonlyMap<string, string>,
  content: string,
  random: Random,
): Promise<void> {
  const hash = hashOf(content)
  await store.remove(hash, async () => {
    await pause(random)
    const isUnused = ![...records.values()].includes(hash)
    await pause(random)
    return isUnused
  })
}

function pause(random: Random): Promise<void> {
  return random.next() < 0.5 ? Promise.resolve() : Bun.sleep(random.between(0, 2))
}
