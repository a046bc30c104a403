import { describe, expect, test } from 'bun:test'
import type { WriteTx } from '../../src/domain/store/store'
import {
  declare,
  declareIn,
  find,
  fresh,
  get,
  insert,
  keysOf,
  NOW,
  type OpenStore,
  refusalOf,
  createDatabase,
  setupDatabase,
  update,
} from './fixture'
import { turns } from '../timing'
import { user } from './user-fixture'

/** `write`: all or nothing, one after the other. */
export function describeUnits(openStore: OpenStore): void {
  describe('units', () => {
    test('keep everything or nothing', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const failure = new Error('changed my mind')
      const unit = database.write((tx) => {
        tx.objects.put(table, [fresh('a'), fresh('b')], NOW)
        tx.users.put(user('alice'))
        declare(tx, 'others')
        tx.realms.ensure('rlm-new')
        throw failure
      })
      expect(await unit.catch((error: unknown) => error)).toBe(failure)
      await database.read((tx) => {
        expect(tx.objects.count(table, 1_000_000)).toBe(0)
        expect(tx.users.find('alice')).toBeUndefined()
        expect(tx.tables.find('others')).toBeUndefined()
        expect(tx.realms.find('rlm-new')).toBeUndefined()
      })
    })

    test('return what their work returns', async () => {
      await using database = await createDatabase(openStore)
      expect(await database.write(() => 1)).toBe(1)
      expect(await database.writeSteps(async () => 2)).toBe(2)
    })

    test('are refused as asynchronous functions, and keep nothing', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const late = async (tx: WriteTx) => {
        tx.objects.put(table, [fresh('a')], NOW)
        await turns()
        tx.objects.put(table, [fresh('b')], NOW)
      }
      expect(await messageOf(database.write(late))).toContain('a plain function')
      expect(await messageOf(database.writeSteps((step) => step(late)))).toContain(
        'a plain function',
      )
      expect(await messageOf(database.read(() => turns()))).toContain('a plain function')
      await turns()
      expect(await keysOf(database, table)).toEqual([])
    })

    test('fail when their work throws at once, and others go on', async () => {
      await using database = await createDatabase(openStore)
      const refuse = database.write(() => {
        throw new Error('at once')
      })
      const next = database.write(() => 'next')
      expect(refuse).rejects.toThrow('at once')
      expect(await next).toBe('next')
    })

    test('see what they wrote themselves, which no read sees before the commit', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      await database.writeSteps(async (step) => {
        await step((tx) => {
          tx.objects.put(table, [fresh('a')], NOW)
          expect(tx.objects.find(table, 'a')).toBeDefined()
        })
        expect(await find(database, table, 'a')).toBeUndefined()
        await step((tx) => {
          update(tx, table, 'a', { value: '{"id":"a","n":1}' })
          expect(get(tx, table, 'a').value).toBe('{"id":"a","n":1}')
        })
      })
      expect(await find(database, table, 'a')).toMatchObject({ value: '{"id":"a","n":1}' })
    })

    test('run one after the other in the order they came', async () => {
      await using database = await createDatabase(openStore)
      let running = 0
      const order: number[] = []
      const units = Array.from({ length: 700 }, (_, position) =>
        database.writeSteps(async (step) => {
          running += 1
          expect(running).toBe(1)
          await step((tx) => tx.users.find('nobody'))
          if (position % 100 === 0) await turns()
          order.push(position)
          running -= 1
        }),
      )
      await Promise.all(units)
      expect(order).toEqual(units.map((_, position) => position))
    })

    test('lose no update of each other', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'counters')
      await database.write((tx) => tx.objects.put(table, [fresh('n', { value: '0' })], NOW))
      const increment = () =>
        database.write((tx) => {
          const { value } = get(tx, table, 'n')
          update(tx, table, 'n', { value: String(Number(value) + 1) })
        })
      await Promise.all(Array.from({ length: 300 }, increment))
      expect(await find(database, table, 'n')).toMatchObject({ value: '300' })
    })

    test('that fail leave their neighbours alone', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const outcomes = await Promise.allSettled(
        Array.from({ length: 60 }, (_, position) =>
          database.write((tx) => {
            tx.objects.put(table, [fresh(`k${position}`)], NOW)
            if (position % 3 === 0) throw new Error('no')
          }),
        ),
      )
      const kept = outcomes.flatMap(({ status }, at) => (status === 'fulfilled' ? [`k${at}`] : []))
      expect(kept).toHaveLength(40)
      expect(await keysOf(database, table)).toEqual(kept)
    })

    test('are durable when they are answered', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      await insert(database, table, 'a', 'b')
      const crashed = await (await fixture.crash()).open('main')
      expect(await keysOf(crashed, table)).toEqual(['a', 'b'])
    })

    test('leave nothing of themselves behind a crash in their middle', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      await insert(database, table, 'before')
      await database.writeSteps(async (step) => {
        await step((tx) => tx.objects.put(table, [fresh('amid')], NOW))
        const crashed = await (await fixture.crash()).open('main')
        expect(await keysOf(crashed, table)).toEqual(['before'])
      })
    })

    test('that waited for too long are refused and have not run', async () => {
      await using database = await createDatabase(openStore)
      const events: unknown[] = []
      let isRefused = false
      const long = database
        .writeSteps(async (step) => {
          while (!isRefused) await step(() => Bun.sleepSync(20))
        })
        .then(() => events.push('the long unit is over'))
      await Bun.sleep(20)
      let isLate = false
      void Bun.sleep(4_900).then(() => (isLate = true))
      const waiting = database.write(() => void events.push('has run'))
      events.push(await refusalOf(waiting))
      isRefused = true
      const late = database.write(() => 'late')
      await long
      expect(await late).toBe('late')
      expect(events).toEqual(['BUSY', 'the long unit is over'])
      // A process that was paused sees the end of both at once, in any order.
      await turns()
      expect(isLate).toBe(true)
    }, 60_000)
  })
}

async function messageOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.catch((reason: unknown) => reason)
  return error instanceof Error ? error.message : ''
}
