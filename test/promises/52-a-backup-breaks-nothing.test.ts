import { expect, test } from 'bun:test'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { satchel } from '../binary/setup'
import { killBackups } from '../lab/kill-backups'
import { temporaryFolder } from '../setup'
import { mayMount, mountSmallDisk } from '../small-disk'
import { setupExecutable } from './setup'

/** Promise 52: the lab kills 50 times (`bun run lab`); this is the same with a fixed seed, 6 times. */
test('promise 52: a backup that is killed, or whose server is, breaks and leaves nothing, 6 times', async () => {
  const { servers, commands, problems } = await killBackups(6, 1)
  expect(problems).toEqual([])
  expect(servers + commands).toBeGreaterThan(0)
}, 240_000)

test.skipIf(!mayMount)(
  'promise 52: a full target ends the backup with a sentence, and the data is served',
  async () => {
    await using executable = await setupExecutable()
    const root = await executable.root()
    const rows = Array.from({ length: 500 }, (_, n) => ({
      realmId: 'rlm-public',
      name: String(n),
      text: 'x'.repeat(2_000),
    }))
    expect((await root.post('/all/roles', rows)).status).toBe(200)
    for (const size of ['64k', '512k', '1m', '2m']) {
      using disk = mountSmallDisk(size)
      const target = join(disk.path, 'backups')
      const outcome = await satchel(['backup', target, '--data', executable.folder], {
        cwd: executable.folder,
      })
      expect({ size, ...outcome }).toMatchObject({ size, exitCode: 1 })
      expect(outcome.stderr).toContain(`The disk of ${target} is full`)
      expect(readdirSync(target).filter((name) => name !== 'lock.sqlite')).toEqual([])
    }
    expect((await root.post('/all/roles', rows.slice(0, 1))).status).toBe(200)
  },
)

test.skipIf(!mayMount)(
  'promise 54: a restore to a full disk is refused, leaves nothing, and is completed when there is room',
  async () => {
    await using executable = await setupExecutable()
    using target = temporaryFolder()
    const { folder: cwd } = executable
    const made = await satchel(['backup', target.path, '--data', cwd, '--json'], { cwd })
    const { backup } = JSON.parse(made.stdout) as { backup: string }
    using disk = mountSmallDisk('600k')
    const data = join(disk.path, 'data')
    mkdirSync(data)
    writeFileSync(join(disk.path, 'ballast'), Buffer.alloc(300_000))
    const restore = () => satchel(['restore', join(target.path, backup), '--data', data], { cwd })
    const full = await restore()
    expect(full).toMatchObject({ exitCode: 1 })
    expect(full.stderr).toContain(`The disk of the data folder ${data} is full`)
    expect(readdirSync(data).filter((name) => name !== 'lock.sqlite')).toEqual([])
    disk.grow('8m')
    expect(await restore()).toMatchObject({ exitCode: 0, stderr: '' })
    expect(await satchel(['verify', '--data', data], { cwd })).toMatchObject({ exitCode: 0 })
  },
)
