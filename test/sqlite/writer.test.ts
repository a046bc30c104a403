import { Database as SqliteDatabase } from 'bun:sqlite'
import { describe, expect, spyOn, test } from 'bun:test'
import type { Step, WriteTx } from '../../src/domain/store/store'
import { SatchelError } from '../../src/domain/value/error'
import { declare, fresh, keyOf, NOW, refusalOf, WHOLE } from '../contract/fixture'
import { countTurns, turns, until } from '../timing'
import { setupWriter, type SetupWriter } from './setup'
import type { Table } from '../../src/domain/store/tables'

test('a unit that is over is not held by the signal of its caller', async () => {
  await using writer = setupWriter()
  const { signal } = new AbortController()
  const begun = spyOn(signal, 'addEventListener')
  const ended = spyOn(signal, 'removeEventListener')
  await writer.run(() => 1, { signal })
  const refused = writer.run(
    () => {
      throw new SatchelError('CONFLICT', 'no')
    },
    { signal },
  )
  expect(await refusalOf(refused)).toBe('CONFLICT')
  const listeners = begun.mock.calls.map(([, listener]) => listener)
  expect(listeners).toHaveLength(2)
  expect(ended.mock.calls.map(([, listener]) => listener)).toEqual(listeners)
})

describe('units that wait at the same time', () => {
  test('share a commit', async () => {
    await using writer = setupWriter()
    const table = await declareIn(writer)
    const before = writer.groups.length
    await Promise.all(Array.from({ length: 400 }, (_, n) => put(writer, table, `k${n}`)))
    expect(writer.groups.length - before).toBeWithin(1, 400)
    expect(await keysOf(writer, table)).toHaveLength(400)
  })

  test('are at most 512 in one commit', async () => {
    await using writer = setupWriter()
    const before = writer.groups.length
    await Promise.all(Array.from({ length: 1_025 }, () => writer.run(() => 1)))
    expect(writer.groups.length - before).toBeGreaterThanOrEqual(3)
  })

  test('are not answered before their commit', async () => {
    await using writer = setupWriter()
    const table = await declareIn(writer)
    let commits = writer.committed.commits
    const unit = writer.run((tx) => {
      tx.objects.put(table, [fresh('a')], NOW)
      commits = writer.committed.commits
    })
    await unit
    expect(writer.committed.commits).toBe(commits + 1)
    expect(writer.connection.db.inTransaction).toBe(false)
  })

  test('write nothing when all of them fail', async () => {
    await using writer = setupWriter()
    const table = await declareIn(writer)
    const pages = pagesOf(writer)
    const failing = Array.from({ length: 3 }, (_, n) =>
      writer.run((tx) => {
        tx.objects.put(table, [fresh(`k${n}`)], NOW)
        tx.origins.put({ id: 'https://a.example', created: NOW })
        throw new Error('expected')
      }),
    )
    await Promise.allSettled(failing)
    await writer.drained()
    expect(pagesOf(writer)).toBe(pages)
  })
})

describe('units that rarely fail', () => {
  /** Puts an object and maybe fails; `runs` counts how often that happened. */
  function counting(writer: SetupWriter, table: Table, runs: Map<string, number>) {
    return (key: string, { rarelyFails = true, fails = false, puts = true } = {}) =>
      writer.run(
        (tx) => {
          runs.set(key, (runs.get(key) ?? 0) + 1)
          if (puts) tx.objects.put(table, [fresh(key)], NOW)
          if (fails) throw new Error('expected')
        },
        { rarelyFails },
      )
  }

  test('run again when one of them fails after a change, and nothing of that one stays', async () => {
    let runsOfFirst = 0
    // On a busy machine the first unit may be alone in its commit.
    for (let attempt = 0; attempt < 50 && runsOfFirst < 2; attempt += 1) {
      await using writer = setupWriter()
      const table = await declareIn(writer)
      const runs = new Map<string, number>()
      const unit = counting(writer, table, runs)
      const before = writer.committed.counters.revision
      const outcomes = await Promise.allSettled([
        unit('a'),
        unit('b'),
        unit('failing', { fails: true }),
        unit('c'),
        unit('failing too', { fails: true }),
      ])
      expect(outcomes.map(({ status }) => status)).toEqual([
        'fulfilled',
        'fulfilled',
        'rejected',
        'fulfilled',
        'rejected',
      ])
      expect(await keysOf(writer, table)).toEqual(['a', 'b', 'c'])
      expect(writer.committed.counters.revision).toBe(before + 3)
      expect(runs.get('failing')).toBe(1)
      runsOfFirst = runs.get('a') ?? 0
    }
    expect(runsOfFirst).toBe(2)
  })

  test('do not run again when one fails before any change', async () => {
    await using writer = setupWriter()
    const table = await declareIn(writer)
    const runs = new Map<string, number>()
    const unit = counting(writer, table, runs)
    const refused = { fails: true, puts: false }
    await Promise.allSettled([unit('a'), unit('refused', refused), unit('b')])
    expect(await keysOf(writer, table)).toEqual(['a', 'b'])
    expect([...runs.values()]).toEqual([1, 1, 1])
  })

  test('have savepoints behind one that may fail, which does not run again because of them', async () => {
    await using writer = setupWriter()
    const table = await declareIn(writer)
    const runs = new Map<string, number>()
    const unit = counting(writer, table, runs)
    await Promise.allSettled([
      unit('mayFail', { rarelyFails: false }),
      unit('failing', { fails: true }),
      unit('a'),
    ])
    expect(await keysOf(writer, table)).toEqual(['mayFail', 'a'])
    expect([...runs.values()]).toEqual([1, 1, 1])
  })

  test('are undone with their parts when they are ended', async () => {
    await using writer = setupWriter()
    const table = await declareIn(writer)
    const caller = new AbortController()
    const unit = writer.runSteps(
      (step) =>
        step.attempt(async () => {
          await step((tx) => tx.objects.put(table, [fresh('a')], NOW))
          caller.abort()
          await Bun.sleep(5)
          await step((tx) => tx.objects.put(table, [fresh('b')], NOW))
        }),
      { rarelyFails: true, signal: caller.signal },
    )
    const next = put(writer, table, 'c')
    expect(await refusalOf(unit)).toBe('BUSY')
    await next
    await Bun.sleep(10)
    await put(writer, table, 'd')
    expect(await keysOf(writer, table)).toEqual(['c', 'd'])
  })
})

describe('a full disk', () => {
  test('refuses the unit that filled it, and the others run again', async () => {
    let runsOfFirst = 0
    // A group closes after some milliseconds: on a busy machine the first unit may be alone in one.
    for (let attempt = 0; attempt < 50 && runsOfFirst < 2; attempt += 1) {
      await using writer = setupWriter()
      const table = await declareIn(writer)
      await put(writer, table, 'before')
      limitPages(writer, 20)
      const runs = new Map<string, number>()
      const counted = (key: string, value = '""') =>
        writer.run((tx) => {
          runs.set(key, (runs.get(key) ?? 0) + 1)
          const text = `{"id":"${key}","text":${value}}`
          tx.objects.put(table, [fresh(key, { value: text })], NOW)
        })
      const huge = JSON.stringify('x'.repeat(4 * 1024 * 1024))
      const outcomes = await Promise.all(
        [counted('a'), counted('b'), counted('huge', huge), counted('c')].map(refusalOf),
      )
      expect(outcomes).toEqual([undefined, undefined, 'STORAGE_FULL', undefined])
      expect(runs.get('huge')).toBe(1)
      expect(await keysOf(writer, table)).toEqual(['before', 'a', 'b', 'c'])
      limitPages(writer, 1_000_000)
      await counted('huge', huge)
      expect(await keysOf(writer, table)).toEqual(['before', 'a', 'b', 'c', 'huge'])
      runsOfFirst = runs.get('a') ?? 0
    }
    expect(runsOfFirst).toBe(2)
  })

  test('stores nothing of a unit that goes on after it', async () => {
    await using writer = setupWriter()
    const table = await declareIn(writer)
    limitPages(writer, 20)
    const value = JSON.stringify({ id: 'huge', text: 'x'.repeat(4 * 1024 * 1024) })
    const swallow = (tx: WriteTx, work: () => void) => {
      attempted(work)
      tx.objects.put(table, [fresh('after')], NOW)
    }
    const units = [
      (tx: WriteTx) =>
        swallow(tx, () => tx.attempt(() => tx.objects.put(table, [fresh('huge', { value })], NOW))),
      (tx: WriteTx) => swallow(tx, () => tx.objects.put(table, [fresh('huge', { value })], NOW)),
    ]
    const codes = []
    for (const unit of units) codes.push(await refusalOf(writer.run(unit)))
    expect(codes).toEqual(['STORAGE_FULL', 'STORAGE_FAILED'])
    const quiet = writer.run((tx) =>
      attempted(() => tx.objects.put(table, [fresh('huge', { value })], NOW)),
    )
    expect(await refusalOf(quiet)).toBe('STORAGE_FAILED')
    expect(await keysOf(writer, table)).toEqual([])
    expect(writer.connection.db.inTransaction).toBe(false)
  })

  test('at the commit refuses every unit in it, and counters and knowledge stay', async () => {
    await using writer = setupWriter()
    const table = await declareIn(writer)
    await put(writer, table, 'a')
    const { counters, tables } = writer.committed
    // The commit writes the counters; a trigger fails there as a full disk would.
    writer.connection.db.run(
      "CREATE TRIGGER full BEFORE UPDATE ON database BEGIN SELECT RAISE(ROLLBACK, 'full'); END",
    )
    const units = [
      put(writer, table, 'b'),
      writer.run((tx) => declare(tx, 'others')),
      put(writer, table, 'c'),
    ]
    const outcomes = await Promise.allSettled(units)
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(writer.committed).toMatchObject({ counters, tables })
    writer.connection.db.run('DROP TRIGGER full')
    await put(writer, table, 'd')
    expect(await keysOf(writer, table)).toEqual(['a', 'd'])
    expect(writer.committed.counters.revision).toBe(counters.revision + 1)
  })
})

/** The tests that wait for a time budget wait a tenth of it. The contract of stores waits for one in full. */
const HASTE = 10

describe('another process that writes', () => {
  test('is waited for without holding up the event loop', async () => {
    await using writer = setupWriter()
    const table = await declareIn(writer)
    using other = new SqliteDatabase(writer.file)
    other.run('BEGIN IMMEDIATE')
    const writing = Promise.all([put(writer, table, 'a'), put(writer, table, 'b')])
    let isWritten = false
    void writing.then(() => (isWritten = true))
    for (let turns = 0; turns < 20; turns += 1) await Bun.sleep(5)
    expect(isWritten).toBe(false)
    other.run('COMMIT')
    await writing
    expect(await keysOf(writer, table)).toEqual(['a', 'b'])
  })

  test('that does not end makes units refused after five seconds', async () => {
    await using writer = setupWriter(HASTE)
    const table = await declareIn(writer)
    using other = new SqliteDatabase(writer.file)
    other.run('BEGIN IMMEDIATE')
    let isLate = false
    void Bun.sleep(4_000 / HASTE).then(() => (isLate = true))
    expect(await refusalOf(put(writer, table, 'a'))).toBe('BUSY')
    // A process that was paused sees both at once, in any order.
    await turns()
    expect(isLate).toBe(true)
    other.run('ROLLBACK')
    await put(writer, table, 'b')
    expect(await keysOf(writer, table)).toEqual(['b'])
  })
})

describe('a unit that does not end', () => {
  test('because it awaits something else is ended with an error, and the next one runs', async () => {
    await using writer = setupWriter(2)
    const table = await declareIn(writer)
    const late: unknown[] = []
    const wake = Promise.withResolvers<void>()
    const waiting = writer.runSteps(async (step) => {
      await step((tx) => tx.objects.put(table, [fresh('lost')], NOW))
      await step.attempt(async () => {
        await step((tx) => tx.objects.put(table, [fresh('lost too')], NOW))
        await wake.promise
        await step((tx) => tx.objects.put(table, [fresh('late')], NOW)).catch((error: unknown) =>
          late.push(error),
        )
        throw new Error('expected')
      })
    })
    const next = put(writer, table, 'next')
    expect(await messageOf(waiting)).toStartWith('a unit did not use its transaction for 4 s')
    await next
    // The rest of its work runs while another unit is under way.
    await writer.runSteps(async (step) => {
      await step((tx) => tx.objects.put(table, [fresh('beside')], NOW))
      wake.resolve()
      for (let turns = 0; turns < 10; turns += 1) await Bun.sleep(1)
      await step((tx) => tx.revision())
    })
    expect(await keysOf(writer, table)).toEqual(['next', 'beside'])
    expect(late).toHaveLength(1)
  })

  test('because it awaits a write of its own database is ended with an error', async () => {
    await using writer = setupWriter(HASTE)
    const unit = writer.runSteps(async (step) => {
      await step((tx) => tx.revision())
      return writer.run(() => 1)
    })
    expect(await messageOf(unit)).toEndWith('it awaits something else, such as another write')
    expect(await writer.run(() => 2)).toBe(2)
  })

  test('is not one that computes for long between two uses of its transaction', async () => {
    let time = 0
    let looks = 0
    await using writer = setupWriter(1, () => {
      looks += 1
      return time
    })
    const revision = await writer.runSteps(async (step) => {
      await step((tx) => tx.revision())
      for (const computation of [0, 4_500]) {
        time += computation
        // Until the writer has looked at the unit.
        const before = looks
        await until(() => looks > before)
      }
      return await step((tx) => tx.revision())
    })
    expect(revision).toBeNumber()
  })

  test('is not one that pays the entries that it owes, however long that takes', async () => {
    let time = 0
    await using writer = setupWriter(1, () => (time += 1_500))
    const table = await writer.run((tx) => declare(tx, 'things', '@id, *tags'))
    const index = table.indexes[0]!.number
    const entries = Array.from({ length: 200_000 }, (_, at) => ({
      index,
      key: Buffer.from(`tag${at}`),
    }))
    await writer.runSteps(
      (step) => step((tx) => tx.objects.put(table, [fresh('a', { entries })], NOW)),
      {
        isUnbounded: true,
      },
    )
    expect(await keysOf(writer, table)).toEqual(['a'])
  })

  test('makes the units behind it refused after five seconds, and is ended after ten', async () => {
    await using writer = setupWriter(HASTE)
    const events: string[] = []
    const endless = writer.runSteps(async (step) => {
      for (;;) await step((tx) => tx.revision())
    })
    const noted = (promise: Promise<unknown>) =>
      promise.catch((error: SatchelError) => {
        events.push(`${error.code} ${error.retryAfter}: ${error.message}`)
      })
    await Promise.all([noted(endless), noted(writer.run(() => 1))])
    expect(events).toEqual([
      'BUSY 1: The database is busy: nothing was stored, repeat the request',
      'BUSY 1: The request took longer than 10 s and nothing was stored: write less at once',
    ])
    expect(await writer.run(() => 2)).toBe(2)
  })

  test('is ended when its caller or the database goes', async () => {
    await using writer = setupWriter()
    const table = await declareIn(writer)
    const caller = new AbortController()
    const { signal } = caller
    const started = Promise.withResolvers<void>()
    const endless = async (step: Step) => {
      await step.attempt(async () => {
        await step((tx) => tx.objects.put(table, [fresh('lost')], NOW))
        started.resolve()
        for (;;) await step((tx) => tx.revision())
      })
    }
    const units = [
      writer.runSteps(endless, { signal }),
      writer.runSteps(endless, { signal }),
      put(writer, table, 'kept'),
    ]
    await started.promise
    caller.abort()
    const outcomes = await Promise.all(units.map(refusalOf))
    expect(outcomes).toEqual(['BUSY', 'BUSY', undefined])
    expect(await refusalOf(writer.runSteps(endless, { signal }))).toBe('BUSY')
    expect(await keysOf(writer, table)).toEqual(['kept'])
    const last = refusalOf(writer.runSteps(endless))
    await writer.close(() => new SatchelError('BUSY', 'closing'))
    expect(await last).toBe('BUSY')
    expect(await keysOf(writer, table)).toEqual(['kept'])
  })
})

describe('others get turns', () => {
  test.each([
    ['one object with many index entries', 1, 60_000],
    ['many objects', 20_000, 1],
  ])('while a unit puts, replaces and removes %s', async (_, objects, tags) => {
    await using writer = setupWriter()
    const { table, index } = await writer.run((tx) => {
      const declared = declare(tx, 'tagged', '@id, *tags')
      return { table: declared, index: declared.indexes[0]!.number }
    })
    const entriesOf = (from: number) =>
      Array.from({ length: tags }, (_, n) => ({ index, key: Buffer.from(`6${from + n}`) }))
    const puts = Array.from({ length: objects }, (_, n) =>
      fresh(`k${n}`, { entries: entriesOf(0) }),
    )
    const turns: number[] = []
    /** Does the work for some of the objects in each step. */
    const counted = async (work: (tx: WriteTx, from: number, to: number) => void) => {
      using counter = countTurns()
      await writer.runSteps(async (step) => {
        for (let from = 0; from < objects; from += 256) {
          await step((tx) => work(tx, from, from + 256))
        }
      })
      turns.push(counter.turns)
    }
    await counted((tx, from, to) => tx.objects.put(table, puts.slice(from, to), NOW))
    const stored = await writer.run((tx) =>
      tx.objects.findMany(
        table,
        puts.map(({ key }) => key),
      ),
    )
    const replacements = puts.map((replaced) => ({
      ...replaced,
      entries: entriesOf(tags),
      previous: stored.get(replaced.key)!,
      previousTraces: replaced,
    }))
    await counted((tx, from, to) => tx.objects.put(table, replacements.slice(from, to), NOW))
    const removals = [...stored.values()].map((previous) => ({
      previous,
      entries: entriesOf(tags),
      blobs: [],
    }))
    await counted((tx, from, to) => tx.objects.remove(table, removals.slice(from, to), NOW))
    expect(Math.min(...turns)).toBeGreaterThan(3)
    const { connection } = writer
    expect(connection.prepare('SELECT 1 FROM index_entries LIMIT 1').get()).toBeNull()
  })

  test('while one unit removes all members of a large realm', async () => {
    await using writer = setupWriter()
    const COUNT = 20_000
    await writer.run((tx) => {
      for (let n = 0; n < COUNT; n += 1) {
        const userId = `user${n}`
        const rights = { accepted: true, rejected: false, permissions: {}, roles: [] }
        tx.memberships.put({ source: `members:${n}`, realm: 7, userId, email: null, ...rights })
      }
    })
    using counter = countTurns()
    await writer.run((tx) => tx.memberships.removeOfRealm(7))
    expect(counter.turns).toBeGreaterThan(3)
    const { connection } = writer
    expect(connection.prepare('SELECT 1 FROM memberships LIMIT 1').get()).toBeNull()
  })
})

/** Does the work and forgets its error. */
function attempted(work: () => void): void {
  try {
    work()
  } catch {
    // The unit must not go on from here.
  }
}

async function messageOf(unit: Promise<unknown>): Promise<string> {
  const error: unknown = await unit.catch((reason: unknown) => reason)
  return error instanceof Error ? error.message : ''
}

function declareIn(writer: SetupWriter): Promise<Table> {
  return writer.run((tx) => declare(tx, 'things'))
}

function put(writer: SetupWriter, table: Table, key: string): Promise<void> {
  return writer.run((tx) => {
    tx.objects.put(table, [fresh(key)], NOW)
  })
}

async function keysOf(writer: SetupWriter, table: Table): Promise<string[]> {
  const { rows } = await writer.run((tx) => tx.objects.page(table, { size: WHOLE }))
  return rows.map(keyOf)
}

/** Makes SQLite find the disk full once the file has so many pages more. */
function limitPages({ connection: { db } }: SetupWriter, more: number): void {
  const [{ page_count: pages } = { page_count: 0 }] = db
    .query<{ page_count: number }, []>('PRAGMA page_count')
    .all()
  db.run(`PRAGMA max_page_count = ${pages + more}`)
}

/** Pages in the write-ahead log. */
function pagesOf({ connection: { db } }: SetupWriter): number {
  return db.query<{ log: number }, []>('PRAGMA wal_checkpoint(NOOP)').get()?.log ?? 0
}
