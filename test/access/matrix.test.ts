import { describe, expect, test } from 'bun:test'
import { ANONYMOUS } from '../../src/domain/access/actor'
import type { Database } from '../../src/domain/store/store'
import { type Attempts, attemptsIn, attemptsOnItems } from './attempts'
import {
  INSIDERS,
  ME,
  OUTSIDERS,
  REALM_KINDS,
  sceneOf,
  type SeedRow,
  type Standing,
} from './standings'
import { judge, type Operation, remove, through } from './operation'
import { type Verdict, visibleTo } from './oracle'
import { type Person, PUBLIC, realmOf, type World } from './oracle-world'
import {
  act,
  ADMINISTRATOR,
  actorFor,
  asAdministrator,
  complaint,
  expectedState,
  get,
  inOrder,
  list,
  mustAct,
  openDatabase,
  rehearse,
  seed,
  stateOf,
  TABLES,
  type TestDatabase,
} from './setup'

interface Stage extends TestDatabase {
  readonly world: World
}

async function openStage(realm: string, scene: readonly SeedRow[]): Promise<Stage> {
  const opened = await openDatabase()
  const { database } = opened
  let world = await seed(database, scene)
  if (realm === REALM_KINDS['an erased realm']) {
    world = await mustAct(database, world, ADMINISTRATOR, asAdministrator(remove('realms', realm)))
  }
  return { ...opened, world }
}

/** The objects that a user sees, and those of the access model. */
async function complaintsAboutReading({ database, world }: Stage, person: Person) {
  const complaints: string[] = []
  for (const table of TABLES) {
    const rows = world.rows.filter((row) => row.table === table)
    const seen = await list(database, actorFor(person, 'my'), 'my', table)
    const expected = visibleTo(world, person, table)
    if (seen.map(inOrder).join('\n') !== expected.map(({ value }) => inOrder(value)).join('\n')) {
      complaints.push(`lists ${table}: ${JSON.stringify(seen)}`)
    }
    const open = await list(database, ANONYMOUS, 'public', table)
    // The addresses of members are not for everyone.
    const isOpen = table !== 'members'
    const shown = rows.filter((row) => isOpen && realmOf(row) === PUBLIC)
    if (open.map(inOrder).join('\n') !== shown.map(({ value }) => inOrder(value)).join('\n')) {
      complaints.push(`lists ${table} in public: ${JSON.stringify(open)}`)
    }
    for (const { key, value } of rows) {
      const isSeen = expected.some((row) => row.key === key)
      const got = await get(database, actorFor(person, 'my'), 'my', table, key)
      const same = typeof got !== 'string' && inOrder(got) === inOrder(value)
      if (isSeen ? !same : got !== 'UNKNOWN_OBJECT') complaints.push(`gets ${table} ${key}`)
      const free = await get(database, ANONYMOUS, 'public', table, key)
      const isFree = typeof free !== 'string' && inOrder(free) === inOrder(value)
      if (shown.some((row) => row.key === key) ? !isFree : free !== 'UNKNOWN_OBJECT') {
        complaints.push(`gets ${table} ${key} in public`)
      }
    }
  }
  return complaints
}

/**
 * Tries everything and compares answer and outcome with the oracle: what it refuses one after the
 * other, which must leave everything as it was, and what it allows each on the untouched scene.
 */
async function complaintsAboutWriting(
  { database, world }: Stage,
  person: Person,
  attempts: Attempts,
) {
  const complaints: string[] = []
  const attempt = async (stage: Database, name: string, operation: Operation, verdict: Verdict) => {
    const problem = complaint(verdict, await act(stage, person, operation))
    if (problem !== undefined) complaints.push(`${name}: ${problem}`)
    return problem === undefined
  }
  const judged = Object.entries(attempts).flatMap(([name, operation]) =>
    operation === undefined ? [] : [{ name, operation, verdict: judge(world, person, operation) }],
  )
  await rehearse(database, async (stage) => {
    const refused = judged.filter(({ verdict }) => !verdict.allowed)
    let isRight = true
    for (const { name, operation, verdict } of refused) {
      isRight = (await attempt(stage, name, operation, verdict)) && isRight
    }
    if (isRight && (await stateOf(stage)).join('\n') !== expectedState(world).join('\n')) {
      complaints.push('something refused has changed something')
    }
  })
  for (const { name, operation, verdict } of judged) {
    if (!verdict.allowed) continue
    await rehearse(database, async (stage) => {
      if (!(await attempt(stage, name, operation, verdict))) return
      const state = (await stateOf(stage)).join('\n')
      const expected = expectedState(verdict.world).join('\n')
      if (state !== expected) complaints.push(`${name}: left\n${state}\ninstead of\n${expected}`)
    })
  }
  return complaints
}

const standingsIn = (realm: string): readonly Standing[] => {
  if (!realm.startsWith('rlm')) return OUTSIDERS.slice(0, 1)
  return [...OUTSIDERS, ...INSIDERS]
}

for (const [kind, realm] of Object.entries(REALM_KINDS)) {
  describe(`in ${kind}`, () => {
    for (const standing of standingsIn(realm)) {
      for (const ownsItem of [false, true]) {
        const whose = ownsItem ? 'their item' : 'the item of another'
        test(`${standing.name}, ${whose}: may do what the papers allow and nothing else`, async () => {
          const scene = sceneOf(realm, standing, ownsItem)
          await using stage = await openStage(realm, scene)
          expect(await complaintsAboutReading(stage, ME)).toEqual([])
          const attempts = ownsItem ? attemptsOnItems(realm, scene) : attemptsIn(realm, scene)
          expect(await complaintsAboutWriting(stage, ME, attempts)).toEqual([])
        })
      }
    }

    test.each(['all', 'public'] as const)(
      'a writer with GLOBAL_WRITE may do through /%s what the papers allow and nothing else',
      async (view) => {
        for (const standing of [...OUTSIDERS, ...INSIDERS].slice(0, 6)) {
          const scene = sceneOf(realm, standing, false)
          await using stage = await openStage(realm, scene)
          const attempts = Object.entries(attemptsIn(realm, scene)).map(
            ([name, operation]) => [name, operation && through(view, operation)] as const,
          )
          const complaints = complaintsAboutWriting(
            stage,
            ADMINISTRATOR,
            Object.fromEntries(attempts),
          )
          expect(await complaints).toEqual([])
        }
      },
    )
  })
}
