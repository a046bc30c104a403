import { Database } from 'bun:sqlite'
import { statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Caller } from '../http/setup'
import { EXECUTABLE, satchel } from '../binary/setup'
import { type Executable, startExecutable } from '../promises/setup'
import { temporaryFolder } from '../setup'

export interface LoadReport {
  /** The p99 of a single write of others, ms, before, during and after the backup. */
  readonly p99: { readonly before: number; readonly during: number; readonly after: number }
  readonly seconds: number
  /** MiB: of the database, the largest log, and how much larger the server became. */
  readonly size: number
  readonly log: number
  readonly logAfter: number
  readonly growth: number
  /** Objects written meanwhile, a second. */
  readonly rate: number
  readonly problems: readonly string[]
}

/** Where the data and the backups are. */
export interface Disks {
  readonly source: keyof typeof FOLDERS
  readonly target: keyof typeof FOLDERS
}

const FOLDERS = { disk: tmpdir(), memory: '/dev/shm' } as const

const MIB = 1024 * 1024
/** The bytes of an object, and of one beyond the first GiB, so that ten are filled in minutes. */
const OBJECT = 1_000
const LARGE_OBJECT = 100_000
const SMALL_MIB = 1_000
const BATCH = 20
const TICK_MS = 20
const BEFORE_MS = 10_000
const AFTER_MS = 60_000
/** Promise 7. */
const MOST_LOG = 4_096
const MOST_LOG_AFTER = 64
const MOST_GROWTH = 32_000_000 / MIB
/** The p99 of others against that from before, on one disk and on two. */
const MOST_SLOWER = { one: 4, two: 2 }

/** The content of a backup, and the writes beside it. */
export interface Load {
  /** Objects that are written meanwhile, a second. */
  readonly rate: number
  /** Of the objects before. */
  readonly mib: number
  readonly blobs: { readonly count: number; readonly bytes: number }
  readonly disks: Disks
}

/**
 * Promise 7: backs up a database while objects are written to it, and compares the copy with the acknowledged ones. The
 * times are those of this machine: compare them within a line.
 */
export async function backUpUnderLoad({ rate, mib, blobs, disks }: Load): Promise<LoadReport> {
  const { source, target: kind } = disks
  using folder = temporaryFolder(FOLDERS[source])
  using target = temporaryFolder(FOLDERS[kind])
  await using executable = await startExecutable(folder.path)
  const root = await executable.root()
  await fill(root, mib)
  await storeBlobs(executable, blobs)
  const file = join(executable.folder, 'databases', 'main', 'database.sqlite')
  const logSize = () => (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) / MIB
  const load = beginLoad(root, rate)
  const probe = beginProbe(root)
  await Bun.sleep(BEFORE_MS)
  const before = probe.take()
  const rss = executable.memory().now
  const needed = load.acknowledged()
  const begun = performance.now()
  const command = Bun.spawn(
    [EXECUTABLE, 'backup', target.path, '--data', executable.folder, '--json'],
    { env: {}, stdout: 'pipe', stderr: 'pipe' },
  )
  const most = { log: 0, rss }
  const watch = setInterval(() => {
    most.log = Math.max(most.log, logSize())
    most.rss = Math.max(most.rss, executable.memory().now)
  }, 50)
  const [exitCode, made, said] = await Promise.all([
    command.exited,
    command.stdout.text(),
    command.stderr.text(),
  ])
  const seconds = (performance.now() - begun) / 1_000
  clearInterval(watch)
  const during = probe.take()
  await Bun.sleep(AFTER_MS)
  const after = probe.take()
  const logAfter = logSize()
  await Promise.all([load.end(), probe.end()])
  const problems: string[] = exitCode === 0 ? [] : [`the backup failed: ${said}`]
  if (exitCode === 0) {
    const { backup } = JSON.parse(made) as { backup: string }
    problems.push(...(await compare(join(target.path, backup), target.path, needed, load)))
  }
  const growth = most.rss - rss
  if (most.log > MOST_LOG) problems.push(`the log had ${Math.round(most.log)} MiB`)
  if (logAfter > MOST_LOG_AFTER) problems.push(`the log kept ${Math.round(logAfter)} MiB`)
  if (growth > MOST_GROWTH) problems.push(`the server became ${Math.round(growth)} MiB larger`)
  const mostSlower = MOST_SLOWER[source === kind ? 'one' : 'two']
  for (const [when, p99] of Object.entries({ during, after })) {
    if (p99 >= mostSlower * before)
      problems.push(`p99 ${when} it was ${(p99 / before).toFixed(1)} times that before`)
  }
  return {
    p99: { before, during, after },
    seconds,
    size: statSync(file).size / MIB,
    log: most.log,
    logAfter,
    growth,
    rate: load.rate(),
    problems,
  }
}

async function fill(root: Caller, mib: number): Promise<void> {
  const text = 'x'.repeat(OBJECT)
  const large = 'x'.repeat(LARGE_OBJECT)
  for (let at = 0; at < mib; at += 1) {
    const rows =
      at < SMALL_MIB
        ? Array.from({ length: MIB / 1024 }, (_, n) => ({ id: `fill-${at}-${n}`, text }))
        : Array.from({ length: 10 }, (_, n) => ({ id: `fill-${at}-${n}`, text: large }))
    const { status, text: words } = await root.post('/my/plain', rows)
    if (status !== 200) throw new Error(`Not filled: ${status} ${words}`)
  }
}

/** Small ones together, large ones one after the other. */
async function storeBlobs(executable: Executable, { count, bytes }: Load['blobs']): Promise<void> {
  const authorization = `Bearer ${await executable.token()}`
  const together = bytes > MIB ? 1 : 100
  for (let at = 0; at < count; at += together) {
    await Promise.all(
      Array.from({ length: Math.min(together, count - at) }, async (_, n) => {
        const body = Buffer.alloc(bytes, 'y')
        body.write(`${at + n} `)
        const headers = { authorization, 'content-type': 'text/plain' }
        const address = `${executable.main}/blob/a-blob-of-the-lab-${at + n}`
        const { ok } = await fetch(address, { method: 'PUT', headers, body })
        if (!ok) throw new Error('A blob was not stored')
      }),
    )
  }
}

interface Writing {
  /** The batches that are acknowledged. */
  acknowledged(): ReadonlySet<number>
  /** The batches that were acknowledged before this one was sent. */
  before(batch: number): readonly number[]
  rate(): number
  end(): Promise<void>
}

function beginLoad(root: Caller, rate: number): Writing {
  const text = 'z'.repeat(300)
  const sent = new Map<number, number>()
  const acknowledged = new Map<number, number>()
  const pending = new Set<Promise<void>>()
  const begun = performance.now()
  let step = 0
  let owed = 0
  let next = 0

  async function send(batch: number): Promise<void> {
    const rows = Array.from({ length: BATCH }, (_, n) => ({ id: `load-${batch}-${n}`, text }))
    sent.set(batch, (step += 1))
    const { status } = await root.post('/my/plain', rows)
    if (status === 200) acknowledged.set(batch, (step += 1))
  }

  const timer = setInterval(() => {
    owed += (rate * TICK_MS) / 1_000 / BATCH
    for (; owed >= 1 && pending.size < 200; owed -= 1) {
      const work = send((next += 1)).finally(() => pending.delete(work))
      pending.add(work)
    }
  }, TICK_MS)
  return {
    acknowledged: () => new Set(acknowledged.keys()),
    before(batch) {
      const limit = sent.get(batch) ?? 0
      return [...acknowledged].filter(([, at]) => at < limit).map(([each]) => each)
    },
    rate: () => (acknowledged.size * BATCH) / ((performance.now() - begun) / 1_000),
    async end() {
      clearInterval(timer)
      await Promise.all(pending)
    },
  }
}

/** Writes one object after the other. */
function beginProbe(root: Caller) {
  let times: number[] = []
  let isOver = false
  const running = (async () => {
    for (let count = 0; !isOver; count += 1) {
      const begun = performance.now()
      await root.post('/my/plain', { id: 'probe', count })
      times.push(performance.now() - begun)
      await Bun.sleep(TICK_MS)
    }
  })()
  return {
    /** The p99 since the last call, ms. */
    take() {
      const sorted = times.toSorted((one, other) => one - other)
      times = []
      return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN
    },
    async end() {
      isOver = true
      await running
    },
  }
}

/** Whether a copy has all that was acknowledged before the command began, and is a prefix of the commits. */
async function compare(
  backup: string,
  cwd: string,
  needed: ReadonlySet<number>,
  load: Writing,
): Promise<string[]> {
  const data = join(cwd, 'restored')
  const restored = await satchel(['restore', backup, '--data', data], { cwd })
  if (restored.exitCode !== 0) return [restored.stderr]
  using db = new Database(join(data, 'databases', 'main', 'database.sqlite'))
  const { number } = db
    .query<{ number: number }, []>("SELECT number FROM tables WHERE name = 'plain'")
    .get() ?? { number: 0 }
  const rows = db
    .query<{ key: string }, []>(`SELECT key FROM o_${number} WHERE key LIKE 'load-%'`)
    .all()
  const counts = new Map<number, number>()
  for (const { key } of rows) {
    const batch = Number(key.split('-')[1])
    counts.set(batch, (counts.get(batch) ?? 0) + 1)
  }
  const problems: string[] = []
  for (const batch of needed) if (!counts.has(batch)) problems.push(`batch ${batch} is missing`)
  for (const [batch, count] of counts) if (count !== BATCH) problems.push(`batch ${batch} is torn`)
  const newest = Math.max(0, ...counts.keys())
  for (const batch of load.before(newest)) {
    if (!counts.has(batch)) problems.push(`batch ${batch} came before ${newest}, and is missing`)
  }
  return problems.slice(0, 10)
}
