import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { verifyDatabase } from '../../src/domain/rows/verification'
import type { Database } from '../../src/domain/store/store'
import { SatchelError } from '../../src/domain/value/error'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'
import {
  fileIn,
  type Files,
  makeOriginal,
  type Original,
  readSections,
  uncheckedRows,
} from './damage-original'
import { createRandom, type Random } from './random'

/** The ends of the corruptions. */
export interface DamageReport {
  /** The database did not open. */
  refused: number
  /** Reads were answered with an error. */
  answered: number
  /** All reads were answered, some of them wrong, and the verification names damage. */
  named: number
  /** Nothing that can be read has changed. */
  unchanged: number
  readonly problems: string[]
}

const PAGE = 4096

/** Every so many rounds the page is one of the log. */
const LOG_EVERY = 4

/**
 * Promise 3: damages one page of a database file, or of the log of a process that was killed, opens it and
 * reads everything. Damage is refused, answered with an error, named by the verification, or of no
 * consequence.
 */
export async function damagePages(rounds: number, seed: number): Promise<DamageReport> {
  const report: DamageReport = { refused: 0, answered: 0, named: 0, unchanged: 0, problems: [] }
  const original = await makeOriginal()
  const { closed, killed } = original
  const random = createRandom(seed)
  for (let round = 1; round <= rounds; round += 1) {
    const isLog = round % LOG_EVERY === 0
    const whole = isLog ? killed.log : closed
    const damage = damageOf(whole, random)
    if (damage.bytes.equals(whole)) {
      report.unchanged += 1
      continue
    }
    if (isLog) damage.what = `the log, ${damage.what}`
    const files = isLog ? { ...killed, log: damage.bytes } : { file: damage.bytes }
    const end = await endOf(files, original)
    if (typeof end === 'string') report[end] += 1
    else report.problems.push(`round ${round}, ${damage.what}: ${end.problem}`)
  }
  return report
}

type End = 'refused' | 'answered' | 'named' | 'unchanged' | { readonly problem: string }

async function endOf(files: Files, { sections, unchecked }: Original): Promise<End> {
  using folder = temporaryFolder()
  placeFiles(folder.path, files)
  await using store = createSqliteStore(folder.path, {
    clock: createTestClock(),
    // Only then must everything that the log has be there.
    durability: files.log === undefined ? 'none' : 'full',
  })
  let database: Database
  try {
    database = await store.open('main')
  } catch (error) {
    return error instanceof SatchelError ? 'refused' : { problem: `opening: ${textOf(error)}` }
  }
  const found = await readSections(database)
  const faults = await faultsOf(database)
  if (faults instanceof Error) return { problem: `the verification: ${textOf(faults)}` }
  let hasError = false
  const wrong: string[] = []
  for (const [name, text] of sections) {
    const now = found.get(name)
    if (now instanceof SatchelError) hasError = true
    else if (now instanceof Error) wrong.push(`${name}: ${textOf(now)}`)
    else if (now !== text) wrong.push(`${name}: ${difference(String(text), now ?? '')}`)
  }
  // SQLite's own checks see no flip inside a row that has no checksum.
  if (wrong.length > 0 && uncheckedRows(folder.path) === unchecked) {
    return faults.length > 0 ? 'named' : { problem: `not named, but ${wrong.join('; ')}` }
  }
  return hasError ? 'answered' : 'unchanged'
}

/** Names of damage; a database that cannot be read names itself. */
async function faultsOf(database: Database): Promise<readonly string[] | Error> {
  try {
    const { faults } = await verifyDatabase(database, { accepts: false })
    return faults.map(({ problem, table, key }) => `${problem} ${table} ${key}`)
  } catch (error) {
    if (error instanceof SatchelError) return [error.message]
    return error instanceof Error ? error : new Error(String(error))
  }
}

function placeFiles(folder: string, { file, log, index }: Files): void {
  mkdirSync(join(folder, 'databases', 'main'), { recursive: true, mode: 0o700 })
  writeFileSync(fileIn(folder), file)
  if (log !== undefined) writeFileSync(`${fileIn(folder)}-wal`, log)
  if (index !== undefined) writeFileSync(`${fileIn(folder)}-shm`, index)
}

interface Damage {
  readonly bytes: Buffer
  what: string
}

/** One page of the file, damaged in one of the ways of disks and memory. */
function damageOf(file: Buffer, random: Random): Damage {
  const bytes = Buffer.from(file)
  const pages = Math.floor(bytes.length / PAGE)
  const page = random.between(0, pages - 1)
  const at = page * PAGE
  const kind = random.pick(KINDS)
  kind.strike(bytes, at, random, pages)
  return { bytes, what: `page ${page + 1} of ${pages}: ${kind.name}` }
}

interface Kind {
  readonly name: string
  strike(bytes: Buffer, at: number, random: Random, pages: number): void
}

const KINDS: readonly Kind[] = [
  {
    name: 'one bit',
    strike(bytes, at, random) {
      const place = at + random.between(0, PAGE - 1)
      bytes[place] = (bytes[place] ?? 0) ^ (1 << random.between(0, 7))
    },
  },
  {
    name: 'one byte',
    strike(bytes, at, random) {
      bytes[at + random.between(0, PAGE - 1)] = random.between(0, 255)
    },
  },
  {
    name: 'a run of bytes',
    strike(bytes, at, random) {
      const length = random.pick([4, 16, 64, 512])
      const from = at + random.between(0, PAGE - length)
      for (let place = from; place < from + length; place += 1)
        bytes[place] = random.between(0, 255)
    },
  },
  {
    name: 'a sector of zeros',
    strike(bytes, at, random) {
      const from = at + 512 * random.between(0, 7)
      bytes.fill(0, from, from + 512)
    },
  },
  { name: 'all zeros', strike: (bytes, at) => void bytes.fill(0, at, at + PAGE) },
  {
    name: 'another page of the file',
    strike(bytes, at, random, pages) {
      const from = PAGE * random.between(0, pages - 1)
      bytes.copy(bytes, at, from, from + PAGE)
    },
  },
]

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error)
}

/** The place where two texts part. */
function difference(one: string, other: string): string {
  let at = 0
  while (at < one.length && one[at] === other[at]) at += 1
  const from = Math.max(0, at - 30)
  return `${one.slice(from, at + 60)} became ${other.slice(from, at + 60)}`
}
