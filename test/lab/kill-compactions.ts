import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock } from '../auth/setup'
import { declareIn, fresh, keysOf, NOW } from '../contract/fixture'
import { temporaryFolder } from '../setup'
import { copyFolder } from '../sqlite/folders'
import { integrityOf } from './integrity'
import { compileLayer } from './layer'

export interface CompactionKills {
  /** How many system calls a compaction makes. */
  readonly calls: number
  readonly problems: readonly string[]
}

const ROWS = 300

/**
 * Promise 57: kills a process with SIGKILL before another of the system calls by which it compacts a database each
 * time. After each the database has all its objects, and the next start leaves nothing of the draft.
 */
export async function killCompactions(rounds: number): Promise<CompactionKills> {
  using built = temporaryFolder()
  const library = compileLayer(built.path, 'failing-calls')
  const problems: string[] = []
  const original = join(built.path, 'original')
  await fill(original)
  const { calls } = await compactKilled(library, original, join(built.path, 'first'), 0)
  for (let round = 0; round < Math.min(rounds, calls); round += 1) {
    const call = 1 + Math.floor((round * calls) / Math.min(rounds, calls))
    const folder = join(built.path, `killed-${call}`)
    const { wasKilled } = await compactKilled(library, original, folder, call)
    if (!wasKilled) problems.push(`call ${call}: the process was not killed`)
    for (const problem of await findProblems(folder)) problems.push(`call ${call}: ${problem}`)
  }
  return { calls, problems }
}

async function fill(folder: string): Promise<void> {
  mkdirSync(folder)
  await using store = openStore(folder)
  const database = await store.create('main')
  const table = await declareIn(database, 'things')
  await database.write((tx) => {
    const value = JSON.stringify({ text: 'x'.repeat(3_000) })
    const rows = Array.from({ length: ROWS }, (_, n) => fresh(`key${n}`, { value }))
    tx.objects.put(table, rows, NOW)
  })
}

async function compactKilled(library: string, original: string, folder: string, call: number) {
  copyFolder(original, folder)
  const count = `${folder}.count`
  const child = Bun.spawn([process.execPath, import.meta.path, folder], {
    env: {
      ...process.env,
      LD_PRELOAD: library,
      FAILING_CALL: String(call),
      FAILING_COUNT: count,
      FAILING_KILLS: '1',
    },
    stdout: 'ignore',
    stderr: 'inherit',
  })
  await child.exited
  const calls = existsSync(count) ? Number(readFileSync(count, 'utf8')) : 0
  return { calls, wasKilled: child.signalCode === 'SIGKILL' }
}

async function findProblems(folder: string): Promise<string[]> {
  await using store = openStore(folder)
  const database = await store.open('main')
  const found = await keysOf(database, await declareIn(database, 'things'))
  const integrity = integrityOf(folder)
  const left = readdirSync(join(folder, 'databases', 'main')).filter((name) =>
    name.includes('compacting'),
  )
  return [
    ...(integrity === 'ok' ? [] : [integrity]),
    ...left.map((name) => `${name} is left`),
    ...(found.length === ROWS ? [] : [`${found.length} of ${ROWS} objects`]),
  ]
}

function openStore(folder: string) {
  return createSqliteStore(folder, { clock: createTestClock(), durability: 'full' })
}

if (import.meta.main) {
  await using store = openStore(process.argv[2] ?? '')
  await store.compact('main')
}
