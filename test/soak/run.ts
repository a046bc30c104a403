import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { judge, type Verdict } from './judge'
import { passMonth } from './month'
import { plotOf } from './plot'

const usage = `bun run soak [options]

Lets a small company of 30 people work for a month on a server from source whose clock is moved: 60 devices, REST, blobs, imports,
invitations, logins by mail, a backup each night, renewals of the certificate. Writes the figures of each day to dist/soak.json
and dist/soak.svg. Exits with 1 when memory, descriptors, logs, the folder or the p99 grow, when something is damaged, when an
acknowledged write is missing, or when the last backup restores to another database.

  --hours N     how long the month lasts (1); shorter months have less work a day
  --days N      days of the month, at least five (31)
  --seed N      where random choices begin (a new one each time)
  --help
`

const DIST = join(import.meta.dir, '..', '..', 'dist')

async function main(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      hours: { type: 'string', default: '1' },
      days: { type: 'string', default: '31' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6) + 1) },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return say(usage)
  const [hours, days, seed] = [Number(values.hours), Number(values.days), Number(values.seed)]
  if (!(hours > 0 && days >= 5 && Number.isInteger(days) && Number.isInteger(seed))) {
    throw new Error(
      '--hours, --days and --seed must be numbers above 0, without a fraction but for --hours',
    )
  }
  say(`Seed ${seed}\n`)
  const month = await passMonth({
    hours,
    days,
    seed,
    report: (day) => say(`${JSON.stringify(day)}\n`),
  })
  const verdicts = judge(month.days)
  mkdirSync(DIST, { recursive: true })
  writeFileSync(
    join(DIST, 'soak.json'),
    `${JSON.stringify({ hours, seed, ...month, verdicts }, null, 2)}\n`,
  )
  writeFileSync(join(DIST, 'soak.svg'), plotOf(month.days, verdicts))
  say(`\n${month.facts.join(', ')}\n\n${verdicts.map(lineOf).join('\n')}\n`)
  for (const problem of month.problems.slice(0, 50)) say(`${problem}\n`)
  const isGood = month.problems.length === 0 && verdicts.every(({ isFlat }) => isFlat)
  say(isGood ? '\nThe month leaves nothing behind.\n' : '\nThe month leaves something behind.\n')
  return isGood ? 0 : 1
}

function lineOf({ name, unit, mean, slope, error, growth, isFlat }: Verdict): string {
  const text = `${name.padEnd(22)} ${mean.toFixed(2)} ${unit}: ${slope.toFixed(4)} ± ${error.toFixed(4)} a day, ${growth.toFixed(2)} in all`
  return isFlat ? text : `${text}: GROWS`
}

function say(text: string): number {
  process.stdout.write(text)
  return 0
}

if (import.meta.main) process.exit(await main(process.argv.slice(2)))
