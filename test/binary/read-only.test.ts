import { expect, test } from 'bun:test'
import { chmodSync, constants, copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from '../setup'
import { EXECUTABLE, type Outcome, satchel, serve } from './setup'

const isRoot = process.getuid?.() === 0
// Root may write everywhere, so the test switches to another user, where there is a tool for that.
const canBeRefused = !isRoot || Bun.which('setpriv') !== null

/** Runs a command as a user who may not write into `folder`. */
async function runRefused(args: readonly string[], folder: string): Promise<Outcome> {
  if (!isRoot) return await satchel(args, { cwd: folder })
  // The checkout may lie where only root can look.
  using elsewhere = temporaryFolder()
  chmodSync(elsewhere.path, 0o755)
  const executable = join(elsewhere.path, 'satchel')
  copyFileSync(EXECUTABLE, executable, constants.COPYFILE_FICLONE)
  chmodSync(executable, 0o755)
  const wrapper = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups']
  return await satchel(args, { cwd: folder, wrapper, executable })
}

test.if(canBeRefused)('a data folder that cannot be created is one sentence', async () => {
  using folder = temporaryFolder()
  chmodSync(folder.path, 0o555)
  const outcome = await runRefused(['serve', '--port', '0'], folder.path)
  chmodSync(folder.path, 0o755)
  expect(outcome).toMatchObject({ exitCode: 1, stdout: '' })
  expect(outcome.stderr).toBe(
    `satchel: The data folder ${folder.path}/data cannot be created: choose another with --data, or make its parent writable for this user\n`,
  )
})

test.if(canBeRefused)(
  'a data folder that cannot be written is one sentence, for every command',
  async () => {
    using folder = temporaryFolder()
    chmodSync(folder.path, 0o755)
    {
      await using server = await serve({ cwd: folder.path })
      expect(server.ready.client).toBeDefined()
    }
    const data = join(folder.path, 'data')
    makeReadOnly(data)
    for (const args of [
      ['serve', '--port', '0'],
      ['client', 'list'],
      ['db', 'create', 'other'],
    ]) {
      const outcome = await runRefused([...args, '--json'], folder.path)
      expect(outcome).toMatchObject({ exitCode: 1, stdout: '' })
      expect(JSON.parse(outcome.stderr)).toEqual({
        error: {
          code: 'READ_ONLY',
          message: `The data folder ${data} cannot be written: make it writable for this user or choose another with --data`,
        },
      })
    }
    chmodSync(data, 0o700)
  },
)

/** Readable by all users, writable by none. */
function makeReadOnly(data: string): void {
  Bun.spawnSync(['chmod', '-R', 'a+rX,a-w', data])
}

test('a file in place of the data folder is one sentence', async () => {
  using folder = temporaryFolder()
  await Bun.write(join(folder.path, 'data'), 'not a folder')
  const outcome = await satchel(['serve', '--port', '0'], { cwd: folder.path })
  expect(outcome).toMatchObject({ exitCode: 1, stdout: '' })
  expect(outcome.stderr).toBe(`satchel: The data folder ${folder.path}/data is not a folder\n`)
})
