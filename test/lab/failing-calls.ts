import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { SERVER } from '../../src/domain/access/actor'
import { declareTables } from '../../src/domain/object/tables'
import { upsertObjects } from '../../src/domain/object/upsert'
import { ROW_RULES } from '../../src/domain/rows/row-rules'
import { verifyDatabase } from '../../src/domain/rows/verification'
import type { Database } from '../../src/domain/store/store'
import { parseStores } from '../../src/domain/value/schema'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'
import { compileLayer } from './layer'

export interface FailingReport {
  /** How many system calls a session makes. */
  readonly calls: number
  /** How many sessions had which refusal: the code of the error, or `none`. */
  readonly outcomes: ReadonlyMap<string, number>
  readonly problems: readonly string[]
}

const NOW = Date.UTC(2030, 0, 1, 12)
/** So many that a session makes more than 500 calls. */
const STEPS = 24
const ERRORS = ['EIO', 'ENOSPC'] as const

/**
 * Promise 5: runs the same session again and again, in which another system call fails each time, once. A
 * step that is refused for that is repeated, and the rest follows. At the refusal the state on the disk
 * is that after the last acknowledged step, or after the next one; after the session it is that after its last step.
 */
export async function failCalls(rounds: number): Promise<FailingReport> {
  using built = temporaryFolder()
  const library = compileLayer(built.path, 'failing-calls')
  const problems: string[] = []
  const outcomes = new Map<string, number>()
  const { calls } = await runFailing(library, 0, 'EIO')
  for (let round = 0; round < rounds; round += 1) {
    // All of them in turn when there are as many rounds, else spread over the session.
    const call = 1 + Math.floor((round * calls) / rounds)
    const error = ERRORS[round % ERRORS.length] ?? 'EIO'
    const { refusals, state } = await runFailing(library, call, error)
    const told = (problem: string) => problems.push(`call ${call}, ${error}: ${problem}`)
    for (const { acknowledged, found } of refusals) {
      if (found === acknowledged || found === acknowledged + 1) continue
      told(`step ${acknowledged} acknowledged, ${found} found`)
    }
    if (refusals.length > 1) told(refusals.map(({ reason }) => reason).join(', then '))
    if (state !== STEPS) told(`${state} found after the last step`)
    const outcome = refusals[0]?.reason ?? 'none'
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
  }
  return { calls, outcomes, problems }
}

/** A step that was refused, or the opening of the database. */
export interface Refusal {
  /** The last step that was acknowledged; 0 for none. */
  readonly acknowledged: number
  readonly reason: string
}

interface Failed {
  readonly calls: number
  /** With the step that the state on the disk was that after, or why it was none. */
  readonly refusals: readonly (Refusal & { readonly found: number | string })[]
  /** The same after the session. */
  readonly state: number | string
}

async function runFailing(
  library: string,
  call: number,
  error: (typeof ERRORS)[number],
): Promise<Failed> {
  using folder = temporaryFolder()
  const work = join(folder.path, 'work')
  const count = join(folder.path, 'count')
  mkdirSync(work)
  {
    await using store = openStore(work)
    const database = await store.create('main')
    await database.write((tx) => declareTables(tx, parseStores({ items: '@id, step' }), NOW))
  }
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'failing-session.ts'), work], {
    env: {
      ...process.env,
      LD_PRELOAD: library,
      FAILING_CALL: String(call),
      FAILING_ERROR: String(constants.errno[error]),
      FAILING_COUNT: count,
    },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const printed = await child.stdout.text()
  await child.exited
  const refusals: Failed['refusals'][number][] = []
  for (const line of printed.trim().split('\n').filter(Boolean)) {
    const refusal = JSON.parse(line) as Refusal
    refusals.push({ ...refusal, found: await stateOf(copyOf(work, refusals.length)) })
  }
  const calls = existsSync(count) ? Number(readFileSync(count, 'utf8')) : 0
  return { calls, refusals, state: await stateOf(work) }
}

/** Where a session keeps what was on the disk at one of its refusals. */
export function copyOf(folder: string, refusal: number): string {
  return `${folder}-${refusal}`
}

function openStore(folder: string) {
  return createSqliteStore(folder, { clock: createTestClock(), durability: 'full' })
}

/** Each step replaces what the one before has written, and fills some pages; one that `refused` hears of is repeated. */
export async function runSession(
  folder: string,
  refused: (acknowledged: number, error: unknown) => void,
): Promise<void> {
  const store = await repeated(async () => openStore(folder), 0, refused)
  const database = await repeated(() => store.open('main'), 0, refused)
  for (let step = 1; step <= STEPS; step += 1) {
    await repeated(() => write(database, step), step - 1, refused)
  }
  await repeated(async () => store[Symbol.asyncDispose](), STEPS, refused)
}

/** Once more when it fails. */
async function repeated<T>(
  work: () => Promise<T>,
  acknowledged: number,
  refused: (acknowledged: number, error: unknown) => void,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    refused(acknowledged, error)
  }
  return await work().catch((error: unknown) => {
    refused(acknowledged, error)
    throw error
  })
}

async function write(database: Database, step: number): Promise<void> {
  await upsertObjects(database, {
    actor: SERVER,
    view: 'all',
    table: 'items',
    now: NOW,
    rulesByTable: ROW_RULES,
    isArray: true,
    objects: Array.from({ length: OBJECTS }, (_, n) => ({
      id: `itm${n}`,
      realmId: 'rlm-public',
      step,
      text: 'x'.repeat(500 + 10 * step),
    })),
  })
}

const OBJECTS = 20

async function stateOf(folder: string): Promise<number | string> {
  await using store = openStore(folder)
  const database = await store.open('main')
  const { faults } = await verifyDatabase(database, { accepts: false })
  if (faults.length > 0) return JSON.stringify(faults.slice(0, 3))
  const values = await database.read((tx) => {
    const table = tx.tables.find('items')
    if (table === undefined) return []
    const { rows } = tx.objects.page(table, { size: { rows: 1_000, bytes: 1e9 } })
    return rows.map(({ value }) => (JSON.parse(value) as { step: number }).step)
  })
  const [step = 0] = values
  const isWhole = values.every((each) => each === step)
  return isWhole && (step === 0 || values.length === OBJECTS) ? step : `steps ${values.join(' ')}`
}
