import { statSync } from 'node:fs'
import { join } from 'node:path'
import { timeOfBackup } from '../../src/backups/target'
import { DAY, HOUR, MINUTE } from '../../src/domain/value/time'
import { percentile } from '../bench/statistics'
import { createRandom } from '../lab/random'
import { until } from '../timing'
import { foundCompany } from './company'
import { problemsAtEnd } from './ending'
import type { Day } from './judge'
import { KEPT_BACKUPS, openOffice } from './office'
import { bytesIn } from './server'

export interface Month {
  readonly days: readonly Day[]
  readonly facts: readonly string[]
  /** Everything that is wrong except for slopes. */
  readonly problems: readonly string[]
}

export interface MonthOptions {
  readonly hours: number
  readonly days: number
  readonly seed: number
  /** Called at the end of each day. */
  readonly report: (day: Day) => void
}

const START = Date.UTC(2030, 0, 1)
const STEP_MS = 30 * MINUTE
/** Since midnight. */
const BACKUP = 2.5 * HOUR
const OPENING = 8 * HOUR
const CLOSING = 18 * HOUR
/** How busy the company is; a machine that cannot keep up takes longer than the hours. */
const ACTS_PER_SECOND = 20
/** Lets a company work for a month of a server's clock, which lasts for so many hours. */
export async function passMonth({ hours, days, seed, report }: MonthOptions): Promise<Month> {
  await using office = await openOffice(START)
  const { server, wire, target, now, data } = office
  const company = await foundCompany(office, createRandom(seed))
  const problems: string[] = []
  const measured: Day[] = []
  const steps = (days * (CLOSING - OPENING)) / STEP_MS
  const acts = Math.max(1, Math.round(((hours * 3_600) / steps) * ACTS_PER_SECOND))
  const ends = performance.now() + hours * HOUR
  let stepsLeft = steps
  let lines = 0
  for (let day = 1; day <= days; day += 1) {
    await passDay(START + (day - 1) * DAY, day)
    measured.push(await measure(day))
    problems.push(...server.errors())
    report(measured.at(-1)!)
  }
  await company.settle()
  await untilBackup(START + days * DAY)
  const backup = join(office.backups, (await target.list()).at(-1)!)
  problems.push(
    ...(await problemsAtEnd(company, { data, backup, place: office.place })),
    ...server.errors(),
  )
  const facts = [
    `${company.history.acknowledged} acknowledged writes`,
    `${office.authority.issued.length} certificates`,
    `${office.smtp.mails.length} mails`,
    `${wire.repeated()} requests repeated`,
    `${(await target.list()).length} backups kept`,
  ]
  return { days: measured, problems, facts }

  async function passDay(midnight: number, day: number): Promise<void> {
    await untilBackup(midnight)
    await passUntil(midnight + OPENING)
    await company.performDaily(day)
    for (let time = midnight + OPENING; time < midnight + CLOSING; time += STEP_MS) {
      await passUntil(time)
      const begun = performance.now()
      await company.perform(acts)
      const pause = (ends - begun) / stepsLeft - (performance.now() - begun)
      stepsLeft -= 1
      await Bun.sleep(Math.max(0, pause))
    }
    await passUntil(midnight + DAY)
  }

  async function passUntil(time: number): Promise<void> {
    while (now() < time) await server.advance(Math.min(STEP_MS, time - now()))
  }

  /** The time passes until the backup of the night is made and old ones are removed. */
  async function untilBackup(midnight: number): Promise<void> {
    await passUntil(midnight + BACKUP)
    await until(async () => {
      const known = await target.list()
      const newest = timeOfBackup(known.at(-1) ?? '') ?? 0
      if (newest > midnight && known.length <= KEPT_BACKUPS) return true
      await server.advance(MINUTE)
      return false
    })
  }

  async function measure(day: number): Promise<Day> {
    await Bun.sleep(QUIET_MS)
    const state = await server.measure()
    const times = wire.times()
    const written = state.lines - lines
    lines = state.lines
    const file = join(office.place, 'day.zip')
    await office.run(['export', file])
    const log = bytesIn(data, '-wal')
    return {
      day,
      memory: state.memory,
      heap: state.heap,
      descriptors: server.descriptors(),
      log,
      folder: bytesIn(data) - log,
      live: statSync(file).size,
      lines: written,
      requests: times.length,
      p99: percentile(times, 0.99),
    }
  }
}

/** The server looks for ended tokens every second. */
const QUIET_MS = 1_500
