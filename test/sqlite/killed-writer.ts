import { writeSync } from 'node:fs'
import { argv } from 'node:process'
import { systemClock } from '../../src/clock'
import { openDatabase } from '../../src/sqlite/database'
import { declare, fresh, NOW } from '../contract/fixture'

/** Objects of one unit. */
export const UNIT = 5

/** Writes until it is killed, and says on standard output which units were answered. */
async function writeForever(folder: string, round: string): Promise<never> {
  const database = openDatabase('main', folder, { clock: systemClock, durability: 'full' })
  const table = await database.write((tx) => declare(tx, 'things'))
  const client = async (name: number) => {
    for (let n = 0; ; n += 1) {
      const unit = `${round}.${name}.${n}`
      const puts = Array.from({ length: UNIT }, (_, part) => fresh(`${unit} ${part}`))
      await database.write((tx) => tx.objects.put(table, puts, NOW))
      writeSync(1, `${unit}\n`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, name) => client(name)))
  throw new Error('it ended by itself')
}

if (import.meta.main) await writeForever(argv[2] ?? '', argv[3] ?? '')
