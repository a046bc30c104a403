import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EXECUTABLE, satchel } from '../binary/setup'
import { type Executable, setupExecutable, startExecutable } from '../promises/setup'
import type { Caller } from '../http/setup'
import { PLAIN_IMPORT, temporaryFolder } from '../setup'
import { mountSmallDisk } from '../small-disk'
import { until } from '../timing'
import { beside, harmOf } from './beside'
import type { Finding } from './experiment'
import { mountFreezableDisk } from './frozen-disk'

/** How long a target hangs, ms. */
const HANGS_MS = 8_000
const MIB = 1024 * 1024
const FROZEN_ROWS = 100_000

/** Work during which a database is backed up, on as many rows as there are. */
const WORKS: Readonly<Record<string, (executable: Executable, rows: number) => Promise<unknown>>> =
  {
    async 'an erasure'({ commands }) {
      await commands.run('user.delete', { database: 'main', user: MALLORY })
      await until(async () => (await commands.run('job.list', { database: 'main' })).length === 0)
    },
    'an import': ({ commands }, rows) => {
      const objects = Array.from({ length: rows }, (_, n) => ({ id: `imported-${n}`, text: TEXT }))
      const upload = new Blob([JSON.stringify(objects)]).stream()
      return commands.run(
        'import',
        { ...PLAIN_IMPORT, table: 'plain', realm: 'rlm-public' },
        { upload },
      )
    },
    'the build of an index': ({ commands }) => {
      const upload = new Blob([JSON.stringify({ plain: 'id, text, [id+text]' })]).stream()
      return commands.run('schema.push', { database: 'main', wait: true }, { upload })
    },
    'a verification': ({ commands }) => commands.run('verify', { database: 'main', accept: false }),
    'a compaction': ({ commands }) => commands.run('db.compact', { name: 'main' }),
  }

const MALLORY = 'mallory@example.com'
const TEXT = 'x'.repeat(500)

/** Promise 7: a backup that is made during other long work is whole, restored and sound. */
export async function backUpBesideWork(rows: number): Promise<Finding> {
  const problems: string[] = []
  let overlaps = 0
  for (const [title, work] of Object.entries(WORKS)) {
    await using executable = await setupExecutable()
    using target = temporaryFolder()
    const root = await executable.root()
    await fillBy(root, rows, 'kept')
    await fillBy(await executable.as(MALLORY), rows, 'gone')
    let isOver = false
    const working = work(executable, rows).finally(() => (isOver = true))
    await Bun.sleep(100)
    if (!isOver) overlaps += 1
    const command = backUp(executable.folder, target.path)
    const [exitCode, said] = await Promise.all([command.exited, command.stderr.text(), working])
    if (exitCode !== 0) problems.push(`${title}: ${said.trim()}`)
    else
      problems.push(...(await findFaults(target.path, rows)).map((fault) => `${title}: ${fault}`))
  }
  const count = Object.keys(WORKS).length
  return { facts: `${overlaps} of ${count} works were under way, ${rows} rows each`, problems }
}

/** Promise 7: while the process that writes a backup is stopped, nobody waits, and it goes on afterwards. */
export async function stopBackups(mib: number): Promise<Finding> {
  const problems: string[] = []
  await using executable = await setupExecutable()
  using target = temporaryFolder()
  await fillBy(await executable.root(), 2_000 * mib, 'kept')
  const logs: number[] = []
  for (const end of ['SIGCONT', 'SIGKILL'] as const) {
    const command = backUp(executable.folder, target.path)
    await until(() => partialsIn(target.path).length > 0)
    command.kill('SIGSTOP')
    const waits = await beside(executable, () => Bun.sleep(HANGS_MS))
    problems.push(...harmOf(`a backup that stands still until ${end}`, waits))
    logs.push(logOf(executable.folder))
    command.kill(end)
    const exitCode = await command.exited
    if (end === 'SIGCONT' && exitCode !== 0) problems.push(await command.stderr.text())
  }
  const next = backUp(executable.folder, target.path)
  if ((await next.exited) !== 0) problems.push(`the next: ${await next.stderr.text()}`)
  const left = partialsIn(target.path)
  if (left.length > 0) problems.push(`${left.join(', ')} is left`)
  problems.push(...(await findFaults(target.path, 2_000 * mib)))
  return { facts: `the log had ${logs.map(Math.round).join(' and ')} MiB meanwhile`, problems }
}

/** Promise 7: while the disk that the server itself backs up to hangs, nobody waits, and the backup is completed. */
export async function freezeTargets(rounds: number): Promise<Finding> {
  const problems: string[] = []
  let frozen = 0
  for (let round = 1; round <= rounds; round += 1) {
    using disk = mountFreezableDisk(512)
    const target = join(disk.path, 'backups')
    await using executable = await setupExecutable()
    await fillBy(await executable.root(), FROZEN_ROWS, 'kept')
    await storeBlobs(executable, 2_000)
    await executable.served[Symbol.asyncDispose]()
    await using again = await startExecutable(executable.folder, {
      client: executable.client,
      args: ['--backup', target],
    })
    // The server looks at its schedule once a minute.
    await until(() => partialsIn(target).length > 0, 90_000)
    // While the database is copied, and while files of blobs are made.
    if (round % 2 === 0) await until(() => blobsIn(target) > 100)
    if (partialsIn(target).length > 0) frozen += 1
    disk.freeze()
    const waits = await beside(again, () => Bun.sleep(HANGS_MS))
    disk.thaw()
    problems.push(...harmOf(`round ${round}: a disk that hangs`, waits))
    const isDone = async () => {
      const { schedule } = await again.commands.run('backup.status', {})
      return (schedule?.last ?? null) !== null
    }
    await until(isDone, 90_000)
    problems.push(
      ...(await findFaults(target, FROZEN_ROWS)).map((fault) => `round ${round}: ${fault}`),
    )
  }
  return { facts: `${frozen} of ${rounds} disks were frozen during the backup`, problems }
}

/** Promise 4: a data folder on a full disk is backed up to another one, and served as before. */
export async function backUpFullSource(): Promise<Finding> {
  const problems: string[] = []
  using disk = mountSmallDisk('96m')
  const folder = join(disk.path, 'data')
  using target = temporaryFolder()
  mkdirSync(folder)
  await using executable = await startExecutable(folder)
  const root = await executable.root()
  await fillBy(root, 10_000, 'kept')
  writeFileSync(join(disk.path, 'ballast'), '')
  const { stdout } = Bun.spawnSync(['df', '--output=avail', '-B1', disk.path])
  const free = Number(stdout.toString().split('\n')[1])
  writeFileSync(join(disk.path, 'ballast'), Buffer.alloc(Math.max(0, free - 200_000)))
  let status = 200
  for (let n = 0; status === 200 && n < 1_000; n += 1) {
    const row = { id: `last-${n}`, text: 'y'.repeat(20_000) }
    status = (await root.post('/my/plain', row)).status
  }
  if (status !== 507) problems.push(`a write on the full disk was answered with ${status}`)
  const command = backUp(folder, target.path)
  const exitCode = await command.exited
  if (exitCode !== 0) problems.push(`the backup: ${(await command.stderr.text()).trim()}`)
  else problems.push(...(await findFaults(target.path, 10_000)))
  const read = await root.get('/my/plain/kept-1')
  if (read.status !== 200) problems.push(`a read was answered with ${read.status}`)
  return { facts: `a write was answered with ${status}`, problems }
}

function backUp(data: string, target: string) {
  return Bun.spawn([EXECUTABLE, 'backup', target, '--data', data], {
    env: {},
    stdout: 'ignore',
    stderr: 'pipe',
  })
}

/** Restores the newest backup of a target, and verifies it. */
async function findFaults(target: string, rows: number): Promise<string[]> {
  using folder = temporaryFolder()
  const newest = readdirSync(target)
    .filter((name) => /Z(?:-\d+)?$/.test(name))
    .toSorted()
    .at(-1)
  const data = join(folder.path, 'data')
  const run = (...args: string[]) => satchel([...args, '--data', data], { cwd: folder.path })
  const steps = [['restore', join(target, newest ?? 'none')], ['verify'], ['blob', 'verify']]
  for (const step of steps) {
    const { exitCode, stderr } = await run(...step)
    if (exitCode !== 0) return [`${step[0]}: ${stderr.trim()}`]
  }
  const { stdout } = await run('export', '--table', 'plain')
  const found = stdout.split('\n').filter((line) => line.includes('"kept-')).length
  return found === rows ? [] : [`${found} of ${rows} rows are there`]
}

async function fillBy(caller: Caller, rows: number, name: string): Promise<void> {
  const batch = 1_000
  for (let at = 0; at < rows; at += batch) {
    const count = Math.min(batch, rows - at)
    const some = Array.from({ length: count }, (_, n) => ({ id: `${name}-${at + n}`, text: TEXT }))
    const { status, text } = await caller.post('/my/plain', some)
    if (status !== 200) throw new Error(`Not filled: ${status} ${text}`)
  }
}

async function storeBlobs(executable: Executable, count: number): Promise<void> {
  const root = await executable.root()
  for (let n = 0; n < count; n += 1) {
    const body = `${n} `.padEnd(4_096, 'y')
    const { status } = await root.send('PUT', `/blob/a-blob-of-the-lab-${n}`, { body })
    if (status >= 300) throw new Error(`A blob was answered with ${status}`)
  }
}

function partialsIn(target: string): string[] {
  if (statSync(target, { throwIfNoEntry: false }) === undefined) return []
  return readdirSync(target).filter((name) => name.endsWith('.partial'))
}

function blobsIn(target: string): number {
  const [partial] = partialsIn(target)
  const folder = join(target, partial ?? 'none', 'databases', 'main', 'blobs')
  return statSync(folder, { throwIfNoEntry: false }) === undefined ? 0 : readdirSync(folder).length
}

function logOf(data: string): number {
  const log = join(data, 'databases', 'main', 'database.sqlite-wal')
  return (statSync(log, { throwIfNoEntry: false })?.size ?? 0) / MIB
}
