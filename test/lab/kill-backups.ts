import { readdirSync } from 'node:fs'
import { EXECUTABLE } from '../binary/setup'
import { type Executable, startExecutable } from '../promises/setup'
import { temporaryFolder } from '../setup'
import { createHistory } from './history'
import { integrityOf } from './integrity'
import { kill } from './kill-writers'
import { createRandom } from './random'
import { type Run, readRun, writeAway } from './writers'

export interface BackupKills {
  /** Kills of the server and of the command before the backup was complete. */
  readonly servers: number
  readonly commands: number
  readonly problems: readonly string[]
}

/**
 * Promise 52: kills the server or the command with SIGKILL while a backup is made under writers, then looks whether the
 * data is whole and served, and whether the next backup leaves nothing half done.
 */
export async function killBackups(rounds: number, seed: number): Promise<BackupKills> {
  using folder = temporaryFolder()
  using target = temporaryFolder()
  const random = createRandom(seed)
  const problems: string[] = []
  const counts = { servers: 0, commands: 0 }
  let executable = await startExecutable(folder.path)
  const begin = () =>
    Bun.spawn([EXECUTABLE, 'backup', target.path, '--data', folder.path], {
      env: {},
      stdout: 'ignore',
      stderr: 'pipe',
    })
  try {
    await fill(executable)
    for (let round = 1; round <= rounds; round += 1) {
      const run: Run = {
        root: await executable.root(),
        mark: `r${round}`,
        history: createHistory(),
      }
      let isOver = false
      const writing = Promise.all(
        Array.from({ length: 4 }, (_, writer) =>
          writeAway(run, writer, createRandom(seed + round * 100 + writer), () => isOver),
        ),
      )
      const command = begin()
      await Promise.race([Bun.sleep(random.between(0, 500)), command.exited])
      const isServer = random.next() < 0.5
      const wasUnderWay = command.exitCode === null
      if (isServer) await kill(executable)
      else command.kill('SIGKILL')
      isOver = true
      const [exitCode, said] = await Promise.all([command.exited, command.stderr.text(), writing])
      if (wasUnderWay) counts[isServer ? 'servers' : 'commands'] += 1
      // Said once, in a sentence; a killed command says nothing.
      if (isServer && wasUnderWay && exitCode !== 0 && said.trim().split('\n').length !== 1) {
        problems.push(`round ${round}: the command said ${JSON.stringify(said)}`)
      }
      if (isServer) {
        executable = await startExecutable(folder.path, { client: executable.client })
      }
      const stored = await readRun(await executable.root(), run.mark)
      const found = run.history.contradictions(stored)
      problems.push(...found.map((problem) => `round ${round}: ${problem}`))
      const next = begin()
      if ((await next.exited) !== 0) {
        problems.push(`round ${round}: the next backup failed: ${await next.stderr.text()}`)
      }
      const left = readdirSync(target.path).filter((name) => name.endsWith('.partial'))
      problems.push(...left.map((name) => `round ${round}: ${name} is left`))
      problems.push(...verify(target.path).map((problem) => `round ${round}: ${problem}`))
      prune(target.path)
    }
    await kill(executable)
    const integrity = integrityOf(folder.path)
    if (integrity !== 'ok') problems.push(integrity)
  } finally {
    await executable[Symbol.asyncDispose]()
  }
  return { ...counts, problems }
}

/** Enough that a backup takes a while. */
async function fill(executable: Executable): Promise<void> {
  const root = await executable.root()
  for (let round = 0; round < 20; round += 1) {
    const rows = Array.from({ length: 1_000 }, (_, n) => ({
      realmId: 'rlm-public',
      name: `${round} ${n}`,
      text: 'x'.repeat(1_000),
    }))
    const { status } = await root.post('/all/roles', rows)
    if (status !== 200) throw new Error(`Not filled: ${status}`)
  }
}

function verify(target: string): string[] {
  const { exitCode, stdout, stderr } = Bun.spawnSync([EXECUTABLE, 'backup', 'verify', target])
  return exitCode === 0 ? [] : [`${stdout.toString()}${stderr.toString()}`]
}

function prune(target: string): void {
  Bun.spawnSync([EXECUTABLE, 'backup', 'prune', target, '--keep', '1d'])
}
