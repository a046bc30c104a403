import { expect, test, describe } from 'bun:test'
import { createSteadyClock, openSteadyClock } from '../../src/auth/steady-clock'
import { createTestClock, DAY, HOUR, MINUTE, SECOND, setupStore } from './setup'
import type { Database } from '../../src/domain/store/store'
import { code } from '../contract/codes'

test('a steady clock goes with its clock, and on from where it was when that jumps back', () => {
  const clock = createTestClock(1000)
  const steady = createSteadyClock(clock)
  clock.advance(500)
  expect([steady.now(), steady.lead]).toEqual([1500, 0])
  clock.advance(-400)
  expect([steady.now(), steady.lead]).toEqual([1500, 400])
  clock.advance(100)
  expect([steady.now(), steady.lead]).toEqual([1600, 400])
  clock.advance(-10_000)
  expect(steady.now()).toBe(1600)
  clock.advance(20_000)
  expect(steady.now()).toBe(21_600)
})

const LONGEST = 2 * DAY

async function setup() {
  const base = await setupStore()
  const database = await base.store.create('main')
  const { clock } = base
  const reports: unknown[] = []
  return {
    clock,
    database,
    reports,
    begun: clock.now(),
    open: () => openSteadyClock(database, clock, LONGEST, (...behind) => void reports.push(behind)),
    /** After what is being written. */
    latest: () => database.write((tx) => tx.latestTime()),
    [Symbol.asyncDispose]: () => base[Symbol.asyncDispose](),
  }
}

describe('a steady clock of a database', () => {
  test('goes on from the latest time that anybody read, though its own was set back', async () => {
    await using scene = await setup()
    const { clock, begun } = scene
    {
      await using steady = await scene.open()
      clock.advance(HOUR)
      steady.now()
      // Without a reader, no expired item can become valid again.
      clock.advance(SECOND)
    }
    clock.advance(-DAY)
    await using steady = await scene.open()
    expect(steady.now()).toBe(begun + HOUR)
    expect(steady.lead).toBe(DAY - SECOND)
    clock.advance(MINUTE)
    expect(steady.now()).toBe(begun + HOUR + MINUTE)
    expect(scene.reports).toEqual([[DAY - SECOND, false]])
  })

  test('follows its own from wherever that is ahead', async () => {
    await using scene = await setup()
    await (await scene.open())[Symbol.asyncDispose]()
    scene.clock.advance(400 * DAY)
    await using steady = await scene.open()
    expect([steady.now(), steady.lead]).toEqual([scene.clock.now(), 0])
    expect(scene.reports).toEqual([])
  })

  test.each([
    [MINUTE - 1, MINUTE - 1, []],
    [LONGEST, LONGEST, [[LONGEST, false]]],
    [LONGEST + 1, 0, [[LONGEST + 1, true]]],
    [3650 * DAY, 0, [[3650 * DAY, true]]],
  ])('that was set back by %p ms is ahead by %p ms', async (back, lead, reports) => {
    await using scene = await setup()
    scene.clock.advance(-back)
    await using steady = await scene.open()
    expect(steady.lead).toBe(lead)
    expect(scene.reports).toEqual(reports)
  })

  test('that was years ahead leaves nothing of that time', async () => {
    await using scene = await setup()
    const { clock, database } = scene
    clock.advance(3650 * DAY)
    {
      await using steady = await scene.open()
      const now = steady.now()
      await database.write((tx) =>
        tx.codes.put(code('one', { created: now, expires: now + MINUTE })),
      )
    }
    clock.advance(-3650 * DAY)
    for (const reports of [1, 1]) {
      await using steady = await scene.open()
      expect(steady.lead).toBe(0)
      expect(scene.reports).toHaveLength(reports)
    }
    expect(await database.read((tx) => tx.codes.find('one'))).toBeUndefined()
  })
})

describe('writes of a steady clock', () => {
  test('are one unit a minute while it is read, and one at its end', async () => {
    await using scene = await setup()
    const { clock, begun } = scene
    const { database, units } = counted(scene.database)
    {
      await using steady = await openSteadyClock(database, clock, LONGEST)
      for (let times = 0; times < 1000; times += 1) steady.now()
      expect(units()).toBe(0)
      clock.advance(MINUTE)
      for (let times = 0; times < 1000; times += 1) steady.now()
      expect(units()).toBe(1)
      expect(await scene.latest()).toBe(begun + MINUTE)
      clock.advance(SECOND)
      steady.now()
    }
    expect(units()).toBe(2)
    expect(await scene.latest()).toBe(begun + MINUTE + SECOND)
  })

  test('does nothing without a reader', async () => {
    await using scene = await setup()
    const { database, units } = counted(scene.database)
    const steady = await openSteadyClock(database, scene.clock, LONGEST)
    scene.clock.advance(DAY)
    await steady[Symbol.asyncDispose]()
    expect(units()).toBe(0)
  })

  test('may fail, and is written with the next', async () => {
    await using scene = await setup()
    const { clock, begun } = scene
    let isFull = true
    const database: Database = {
      ...scene.database,
      write: (work) => (isFull ? Promise.reject(new Error('no room')) : scene.database.write(work)),
    }
    await using steady = await openSteadyClock(database, clock, LONGEST)
    clock.advance(MINUTE)
    steady.now()
    expect(await scene.latest()).toBe(begun)
    isFull = false
    clock.advance(MINUTE)
    steady.now()
    expect(await scene.latest()).toBe(begun + 2 * MINUTE)
  })
})

function counted(database: Database) {
  let units = 0
  const counting: Database = {
    ...database,
    write(work) {
      units += 1
      return database.write(work)
    },
  }
  return { database: counting, units: () => units }
}
