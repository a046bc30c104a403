import { describe, expect, test } from 'bun:test'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openFolderTarget } from '../../src/backups/folder'
import { type MadeBackup, makeVerifiedBackup } from '../../src/backups/make'
import { backupName } from '../../src/backups/target'
import { verifyBackup } from '../../src/backups/verify'
import { createDatabase } from '../../src/control/databases'
import { createBackupSchedule, startBackupSchedule } from '../../src/control/backup-schedule'
import { getOperation } from '../../src/control/operations'
import { perform } from '../../src/control/perform'
import { parseRetention } from '../../src/domain/backup/retention'
import { SatchelError } from '../../src/domain/value/error'
import { DAY, HOUR, MINUTE } from '../../src/domain/value/time'
import type { ScheduleStatus } from '../../src/host/backups'
import { damageIn, holdTarget } from '../../src/host/backup-target'
import { createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'
import { setupDataFolder } from './setup'

const AT = { hours: 2, minutes: 30 }
const PLAIN = { backupKey: null, backupKeyFile: null, backupPlain: true }

function setup(
  folder: string,
  make: (now: number) => Promise<MadeBackup>,
  target = openFolderTarget(folder),
) {
  const clock = createTestClock()
  const backups: { schedule: ScheduleStatus | null } = { schedule: null }
  let looks = 0
  const schedule = createBackupSchedule({
    clock,
    every: () => {
      looks += 1
      return { [Symbol.dispose]: () => void (looks -= 1) }
    },
    at: AT,
    keep: parseRetention('3d')!,
    target,
    backups,
    make: () => make(clock.now()),
    clean: async () => {},
  })
  return { clock, schedule, backups, timers: () => looks }
}

describe('scheduled backups', () => {
  test('of ten nights with --backup-keep 3d leave three verified ones', async () => {
    await using folder = await setupDataFolder()
    await createDatabase(folder, 'main')
    using target = temporaryFolder()
    const place = openFolderTarget(target.path)
    const operation = getOperation('backup')
    const { clock, schedule, backups } = setup(target.path, (now) =>
      makeVerifiedBackup(
        place,
        (streams) => perform(folder, operation, { database: null }, streams),
        { now, version: '0.1.0', damageIn },
      ),
    )
    await using _ = schedule
    await schedule.look()
    for (let night = 0; night < 10; night += 1) {
      // A day later it is time, an hour later it is not.
      clock.advance(DAY - HOUR)
      await schedule.look()
      clock.advance(HOUR)
      await schedule.look()
    }
    const names = await place.list()
    expect(names).toHaveLength(3)
    expect(readdirSync(target.path).filter((name) => name.endsWith('.partial'))).toEqual([])
    for (const name of names) expect((await verifyBackup(place, name)).faults).toEqual([])
    expect(backups.schedule).toMatchObject({ failure: null, last: { name: names.at(-1) } })
    expect(Date.parse(backups.schedule?.next ?? '')).toBeGreaterThan(clock.now())
  })

  test('that failed are tried again, later and later, and say why', async () => {
    using target = temporaryFolder()
    let attempts = 0
    let isBroken = true
    const { clock, schedule, backups } = setup(target.path, async () => {
      attempts += 1
      if (isBroken) throw new SatchelError('STORAGE_FULL', 'The disk is full')
      return { name: 'x', hash: '', databases: [], bytes: 5, written: 5 }
    })
    await using _ = schedule
    await schedule.look()
    expect(backups.schedule?.failure).toMatchObject({ attempts: 1, reason: 'The disk is full' })
    await schedule.look()
    expect(attempts).toBe(1)
    clock.advance(5 * MINUTE)
    await schedule.look()
    clock.advance(5 * MINUTE)
    await schedule.look()
    expect(attempts).toBe(2)
    clock.advance(5 * MINUTE)
    isBroken = false
    await schedule.look()
    expect(attempts).toBe(3)
    expect(backups.schedule).toMatchObject({ failure: null, last: { name: 'x', bytes: 5 } })
  })

  test('are made at the start when the latest night has none, and else at their time', async () => {
    using target = temporaryFolder()
    const made: number[] = []
    const make = async (now: number) => {
      made.push(now)
      return { name: 'x', hash: '', databases: [], bytes: 0, written: 0 }
    }
    const missed = setup(target.path, make)
    {
      await using _ = missed.schedule
      await missed.schedule.look()
      expect(made).toHaveLength(1)
    }
    expect(missed.timers()).toBe(0)
    const place = openFolderTarget(target.path)
    const name = `${new Date(missed.clock.now()).toISOString().slice(0, 19).replaceAll(':', '-')}Z`
    await using draft = await place.begin(name)
    await draft.finish('')
    const known = setup(target.path, make)
    await using _ = known.schedule
    await known.schedule.look()
    expect(made).toHaveLength(1)
    // Monitoring is to know of it after a restart.
    const at = new Date(known.clock.now()).toISOString()
    expect(known.backups.schedule?.last).toEqual({ name, at, bytes: null })
    known.clock.advance(DAY)
    await known.schedule.look()
    expect(made).toHaveLength(2)
  })

  test('that are good are not made again because an old one cannot be removed', async () => {
    using place = temporaryFolder()
    const target = openFolderTarget(place.path)
    const old = [1, 2, 3, 4].map((day) => `2001-01-0${day}T00-00-00Z`)
    for (const name of old) {
      await using draft = await target.begin(name)
      await draft.finish('')
    }
    let made = 0
    const { clock, schedule, backups } = setup(
      place.path,
      async () => {
        made += 1
        return { name: 'x', hash: '', databases: [], bytes: 5, written: 5 }
      },
      {
        ...target,
        async remove() {
          throw new SatchelError('READ_ONLY', 'It cannot be written')
        },
      },
    )
    await using _ = schedule
    await schedule.look()
    clock.advance(HOUR)
    await schedule.look()
    expect(made).toBe(1)
    expect(backups.schedule).toMatchObject({
      last: { name: 'x' },
      failure: { reason: 'Old backups cannot be removed: It cannot be written' },
    })
  })

  test('begin with the removal of what an earlier process has left, which another one may prevent', async () => {
    await using folder = await setupDataFolder()
    using place = temporaryFolder()
    const { path } = place
    const target = openFolderTarget(path)
    const { clock } = folder
    const parts = { clock, every: () => ({ [Symbol.dispose]() {} }) }
    const settings = { ...PLAIN, backupAt: AT, backupKeep: parseRetention('3d')! }
    {
      await using draft = await target.begin(backupName(clock.now(), []))
      await draft.finish('')
    }
    const partial = '2001-01-01T00-00-00Z.partial'
    mkdirSync(join(path, partial))
    {
      await using other = await holdTarget(target)
      await using schedule = startBackupSchedule(folder, path, settings, parts)
      await schedule.look()
      expect(readdirSync(path)).toContain(partial)
      expect([other === undefined, folder.backups.schedule?.failure]).toEqual([false, null])
    }
    await using schedule = startBackupSchedule(folder, path, settings, parts)
    await schedule.look()
    expect(readdirSync(path).filter((name) => name.endsWith('Z'))).toHaveLength(1)
    expect(readdirSync(path)).not.toContain(partial)
  })

  test('end when the server stops', async () => {
    using target = temporaryFolder()
    const begun = Promise.withResolvers<void>()
    const clock = createTestClock()
    const backups: { schedule: ScheduleStatus | null } = { schedule: null }
    const schedule = createBackupSchedule({
      clock,
      every: () => ({ [Symbol.dispose]() {} }),
      at: AT,
      keep: parseRetention('3d')!,
      target: openFolderTarget(target.path),
      backups,
      make: (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('ended')))
          begun.resolve()
        }),
      clean: async () => {},
    })
    void schedule.look()
    await begun.promise
    await schedule[Symbol.asyncDispose]()
    expect(backups.schedule?.failure).toBeNull()
  })
})
