import { describe, expect, test } from 'bun:test'
import { createJobRunner } from '../../../src/domain/job/job-runner'
import { admitUser } from '../../../src/domain/user/policy'
import { REMOVAL_STEPS } from '../../../src/domain/user/removal'
import { codeOf } from '../../auth/setup'
import { ALICE, BOB, member, NOW, permissionsIn, setupWorld, type World } from './removal-setup'

describe('a user of many realms', () => {
  const COUNT = 400
  const realms = Array.from({ length: COUNT }, (_, at) => `rlm-many${at}`)

  async function setupMany(): Promise<World> {
    const world = await setupWorld()
    await world.put(
      'realms',
      realms.map((realmId) => ({ realmId, owner: ALICE })),
    )
    await world.put(
      'members',
      realms.map((realmId) => member(realmId, BOB)),
    )
    return world
  }

  /** The number of realms that she is still in, and of those without full rights of any user. */
  async function countOf(world: World): Promise<[number, number]> {
    const rows = await world.list('members')
    const rights = Map.groupBy(rows, (row) => String(row['realmId']))
    const owners = new Map(
      (await world.list('realms')).map((row) => [row['realmId'], row['owner']]),
    )
    const hers = rows.filter((row) => row['userId'] === ALICE).length
    const orphans = realms.filter(
      (realm) =>
        owners.get(realm) === null &&
        rights.get(realm)?.every((row) => row['permissions'] === undefined),
    )
    return [hers, orphans.length]
  }

  test('leaves them in short units, each realm at once, and cannot come back before', async () => {
    await using world = await setupMany()
    const { database } = world
    await world.remove(ALICE)
    const [left, orphans] = await countOf(world)
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThan(COUNT)
    expect(orphans).toBe(0)
    expect(await database.read((tx) => tx.users.find(ALICE))).toBeUndefined()
    const comeBack = () =>
      database.write((tx) =>
        admitUser(tx, { id: ALICE, email: null, name: null }, { action: 'prod' }, NOW),
      )
    expect(await codeOf(comeBack)).toBe('BUSY')
    let steps = 0
    {
      await using jobs = createJobRunner(
        database,
        {
          leave: async (...given) => {
            const outcome = await REMOVAL_STEPS.leave!(...given)
            steps += 1
            expect((await countOf(world))[1]).toBe(0)
            return outcome
          },
        },
        (_job, error) => {
          throw error
        },
      )
      await jobs.idle()
    }
    expect(steps).toBeGreaterThan(1)
    expect(await countOf(world)).toEqual([0, 0])
    expect((await comeBack()).id).toBe(ALICE)
    expect(await world.list('realms', ALICE)).toEqual([])
    expect(await world.list('realms', BOB)).toHaveLength(COUNT)
  })

  test('leaves few realms at once where all of their members get its rights', async () => {
    await using world = await setupWorld()
    const few = realms.slice(0, 20)
    const others = Array.from({ length: 40 }, (_, at) => `person${at}`)
    await world.put(
      'realms',
      few.map((realmId) => ({ realmId, owner: ALICE })),
    )
    await world.put(
      'members',
      few.flatMap((realmId) => others.map((other) => member(realmId, other))),
    )
    await world.remove(ALICE)
    const handed = async () => {
      const rows = await world.list('members')
      return rows.filter(({ permissions }) => permissions !== undefined).length
    }
    // A unit begins no other realm once it has looked at a hundred members.
    expect(await handed()).toBe(3 * others.length)
    {
      await using jobs = world.runJobs()
      await jobs.idle()
    }
    expect(await handed()).toBe(few.length * others.length)
  })

  test('is gone though the work breaks off in the middle', async () => {
    await using world = await setupMany()
    await world.remove(ALICE)
    {
      await using jobs = world.runJobs()
      void jobs
    }
    const [left] = await countOf(world)
    expect(left).toBeGreaterThan(0)
    await using jobs = world.runJobs()
    await jobs.idle()
    expect(await countOf(world)).toEqual([0, 0])
    expect(await world.database.read((tx) => tx.jobs.list())).toEqual([])
  })

  test('hands a realm with many members over in short units', async () => {
    await using world = await setupWorld()
    const { database } = world
    await world.put('realms', [{ realmId: 'rlm-crowd', owner: ALICE }])
    const crowd = Array.from({ length: 330 }, (_, at) => member('rlm-crowd', `person${at}`))
    await world.put('members', crowd)
    await world.remove(ALICE)
    const granted = async () =>
      Object.values(await permissionsIn(world, 'rlm-crowd')).filter(
        (rights) => rights !== undefined,
      ).length
    const progress: number[] = []
    for (;;) {
      progress.push(await granted())
      const job = (await database.read((tx) => tx.jobs.list())).find(
        ({ kind }) => kind === 'hand-over',
      )
      if (job === undefined) break
      await REMOVAL_STEPS['hand-over']!(database, job)
    }
    const steps = progress.slice(1).map((now, at) => now - (progress[at] ?? 0))
    expect(Math.max(...steps)).toBe(50)
    expect(progress.at(-1)).toBe(330)
  })

  test('leaves a realm with many members to the one among them who manages it', async () => {
    await using world = await setupWorld()
    await world.put('realms', [{ realmId: 'rlm-crowd', owner: ALICE }])
    const crowd = Array.from({ length: 330 }, (_, at) => member('rlm-crowd', `person${at}`))
    await world.put('members', [
      ...crowd,
      member('rlm-crowd', 'zoe', { permissions: { manage: '*' } }),
    ])
    await world.remove(ALICE)
    await using jobs = world.runJobs()
    await jobs.idle()
    const rights = await permissionsIn(world, 'rlm-crowd')
    expect(Object.entries(rights).filter(([, given]) => given !== undefined)).toEqual([
      ['zoe', { manage: '*' }],
    ])
  })
})
