import { existsSync, readFileSync } from 'node:fs'
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
  /** Sessions in which a step was refused, or the database did not open. */
  readonly refused: number
  readonly problems: readonly string[]
}

const NOW = Date.UTC(2030, 0, 1, 12)
const STEPS = 12
const ERRORS = ['EIO', 'ENOSPC'] as const

/**
 * Promise 5: runs the same session again and again, in which another system call fails each time. After
 * each one the state is that after its last acknowledged step, or after the next one.
 */
export async function failCalls(rounds: number): Promise<FailingReport> {
  using built = temporaryFolder()
  const library = compileLayer(built.path, 'failing-calls')
  const problems: string[] = []
  const { calls } = await runFailing(library, 0, 'EIO')
  let refused = 0
  for (let round = 0; round < rounds; round += 1) {
    // All of them in turn when there are as many rounds, else spread over the session.
    const call = 1 + Math.floor((round * calls) / rounds)
    const error = ERRORS[round % ERRORS.length] ?? 'EIO'
    const { acknowledged, state } = await runFailing(library, call, error)
    if (acknowledged < STEPS) refused += 1
    if (typeof state === 'string') problems.push(`call ${call}, ${error}: ${state}`)
    else if (state !== acknowledged && state !== acknowledged + 1) {
      problems.push(`call ${call}, ${error}: step ${acknowledged} acknowledged, ${state} found`)
    }
  }
  return { calls, refused, problems }
}

interface Failed {
  readonly calls: number
  /** The last step that was acknowledged; 0 for none. */
  readonly acknowledged: number
  /** The step that the state is that after, or why it is none. */
  readonly state: number | string
}

async function runFailing(
  library: string,
  call: number,
  error: (typeof ERRORS)[number],
): Promise<Failed> {
  using folder = temporaryFolder()
  const count = join(folder.path, 'count')
  {
    await using store = openStore(folder.path)
    const database = await store.create('main')
    await database.write((tx) => declareTables(tx, parseStores({ items: '@id, step' }), NOW))
  }
  const child = Bun.spawn(
    [process.execPath, join(import.meta.dir, 'failing-session.ts'), folder.path],
    {
      env: {
        ...process.env,
        LD_PRELOAD: library,
        FAILING_CALL: String(call),
        FAILING_ERROR: String(constants.errno[error]),
        FAILING_COUNT: count,
      },
      stdout: 'pipe',
      stderr: 'inherit',
    },
  )
  const printed = await child.stdout.text()
  await child.exited
  const acknowledged = Number(printed.trim().split('\n').at(-1) ?? 0)
  const calls = existsSync(count) ? Number(readFileSync(count, 'utf8')) : 0
  return { calls, acknowledged, state: await stateOf(folder.path) }
}

function openStore(folder: string) {
  return createSqliteStore(folder, { clock: createTestClock(), durability: 'full' })
}

/** Each step replaces what the one before has written, and fills some pages. */
export async function runSession(
  database: Database,
  acknowledge: (step: number) => void,
): Promise<void> {
  for (let step = 1; step <= STEPS; step += 1) {
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
    acknowledge(step)
  }
}

const OBJECTS = 20

async function stateOf(folder: string): Promise<number | string> {
  await using store = openStore(folder)
  const database = await store.open('main')
  const { faults } = await verifyDatabase(database, { accepts: false })
  if (faults.length > 0) return JSON.stringify(faults.slice(0, 3))
  const values = await database.read(async (tx) => {
    const table = await tx.tables.find('items')
    if (table === undefined) return []
    const { rows } = await tx.objects.scan(table, 0, { rows: 1_000, bytes: 1e9 })
    return rows.map(({ value }) => (JSON.parse(value) as { step: number }).step)
  })
  const [step = 0] = values
  const isWhole = values.every((each) => each === step)
  return isWhole && (step === 0 || values.length === OBJECTS) ? step : `steps ${values.join(' ')}`
}
