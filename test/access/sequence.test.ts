import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import type { Database } from '../../src/domain/store/store'
import { eraseLeftovers } from './erasure'
import { judge } from './operation'
import { visibleTo } from './oracle'
import { mayManageAll } from './oracle-permission'
import { heldBy, realmOf, rowsOf, unknownRolesOf, type World } from './oracle-world'
import { ERASURE, FIRST_ROWS, GLOBALLY, PEOPLE, type Step, steps } from './sequence'
import {
  act,
  actorFor,
  complaint,
  expectedState,
  inOrder,
  list,
  openDatabase,
  seed,
  stateOf,
  TABLES,
} from './setup'

/** More with SATCHEL_RUNS=10000, others with SATCHEL_SEED. */
const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 80)
const SEED = Number(process.env['SATCHEL_SEED'] ?? 20300101)

/** The objects that each user sees, table by table. */
async function complaintsAboutSight(database: Database, world: World): Promise<string[]> {
  const complaints: string[] = []
  for (const person of PEOPLE) {
    for (const table of TABLES) {
      const seen = await list(database, actorFor(person, 'my'), 'my', table)
      const expected = visibleTo(world, person, table).map(({ value }) => inOrder(value))
      if (seen.map(inOrder).join('\n') === expected.join('\n')) continue
      complaints.push(`${person.id} sees of ${table}\n${seen.map(inOrder).join('\n')}`)
    }
  }
  return complaints
}

interface Life {
  readonly database: Database
  world: World
  /** The steps that were tried, to explain a failure. */
  readonly story: string[]
}

/**
 * Names of roles that do not exist, each with the member row and the realm that it is in: a role
 * that is created later counts for that row.
 */
const earlyBirdsIn = (world: World): [bird: string, realm: string][] =>
  rowsOf(world, 'members').flatMap((row) =>
    unknownRolesOf(world, row.value).map((name): [string, string] => [
      JSON.stringify([row.key, realmOf(row), name]),
      realmOf(row),
    ]),
  )

/** A user without full rights in a realm makes no row there that later roles could fill. */
function complaintsAboutEarlyBirds(before: World, after: World, { person, name }: Step): string[] {
  if (name.startsWith(GLOBALLY)) return []
  const known = new Set(earlyBirdsIn(before).map(([bird]) => bird))
  return earlyBirdsIn(after).flatMap(([bird, realm]) =>
    known.has(bird) || mayManageAll(heldBy(before, person.id, realm)) ? [] : bird,
  )
}

async function take(life: Life, step: Step): Promise<void> {
  const { database, world, story } = life
  if (step.name === ERASURE) await eraseLeftovers(database)
  const operation = step.operationIn(world)
  if (operation === undefined) return
  story.push(`${step.person.id} ${step.name} ${JSON.stringify(operation)}`)
  const verdict = judge(world, step.person, operation)
  const problem = complaint(verdict, await act(database, step.person, operation))
  expect({ story, problem }).toEqual({ story, problem: undefined })
  if (verdict.allowed) life.world = verdict.world
  const state = await stateOf(database)
  expect({ story, state }).toEqual({ story, state: expectedState(life.world) })
  const complaints = [
    ...complaintsAboutEarlyBirds(world, life.world, step),
    ...(await complaintsAboutSight(database, life.world)),
  ]
  expect({ story, complaints }).toEqual({ story, complaints: [] })
}

test(
  'after any sequence of operations, each user has exactly the access of the access model',
  async () => {
    const property = fc.asyncProperty(steps, async (drawn) => {
      await using opened = await openDatabase()
      const { database } = opened
      const life = { database, world: await seed(database, FIRST_ROWS), story: [] }
      for (const step of drawn) await take(life, step)
    })
    await fc.assert(property, { numRuns: RUNS, seed: SEED })
  },
  60_000 + RUNS * 1_000,
)
