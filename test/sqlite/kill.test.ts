import { Database as SqliteDatabase } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { declareIn, keysOf } from '../contract/fixture'
import { temporaryFolder } from '../setup'
import { UNIT } from './killed-writer'
import { openIn } from './setup'

const ROUNDS = 5

/** Promises 1 and 6, short; `bun run lab` kills the executable. */
test('acknowledged units survive kill -9, and every unit is stored completely or not at all', async () => {
  using folder = temporaryFolder()
  const answered: string[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    answered.push(...(await writeAndKill(folder.path, round)))
    const { database, file } = openIn(folder.path)
    const table = await declareIn(database, 'things')
    const partsByUnit = Map.groupBy(await keysOf(database, table), (key) => key.split(' ')[0])
    const lost = answered.filter((unit) => !partsByUnit.has(unit))
    const halves = [...partsByUnit].filter(([, parts]) => parts.length !== UNIT)
    expect({ lost, halves }).toEqual({ lost: [], halves: [] })
    await database[Symbol.asyncDispose]()
    using db = new SqliteDatabase(file)
    expect(db.query('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
  }
  expect(answered.length).toBeGreaterThan(ROUNDS * 20)
})

/** Kills a writer after at least thirty answers, in each round after more; the units that were answered. */
async function writeAndKill(folder: string, round: number): Promise<string[]> {
  const script = join(import.meta.dir, 'killed-writer.ts')
  const child = Bun.spawn([process.execPath, script, folder, String(round)], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let output = ''
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    output += chunk
    if (output.split('\n').length > 30 + 17 * round) child.kill('SIGKILL')
  }
  await child.exited
  expect(child.signalCode).toBe('SIGKILL')
  // The last line may be cut off.
  return output.split('\n').slice(0, -1)
}
