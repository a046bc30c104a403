import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runJson, runSatchel } from '../cli/setup'
import type { Value } from '../access/oracle-world'
import type { Work } from './company'

interface Ending {
  /** The data folder, which a server holds. */
  readonly data: string
  /** The last backup, which was made after the last write. */
  readonly backup: string
  /** An empty place for files. */
  readonly place: string
}

/** Everything that is wrong at the end of a month, when all devices have synced. */
export async function problemsAtEnd(
  work: Work,
  { data, backup, place }: Ending,
): Promise<string[]> {
  const restored = join(place, 'restored')
  const files = { live: join(place, 'live.ndjson'), restored: join(place, 'restored.ndjson') }
  await runJson(['export', files.live, '--data', data])
  await runJson(['restore', backup, '--data', restored])
  await runJson(['export', files.restored, '--data', restored])
  const live = readFileSync(files.live, 'utf8')
  const isEqual = live === readFileSync(files.restored, 'utf8')
  return [
    ...(isEqual ? [] : ['the last backup restores to another database than the live one']),
    ...(await faultsOf(data)),
    ...(await faultsOf(restored)),
    ...contradictionsIn(work, live),
  ]
}

/** The damage that the commands find in a data folder. */
async function faultsOf(data: string): Promise<string[]> {
  const found: string[] = []
  for (const command of [['verify'], ['blob', 'verify']]) {
    const { exitCode, stdout, stderr } = await runSatchel([...command, '--data', data])
    if (exitCode !== 0) found.push(`satchel ${command.join(' ')}: ${stdout}${stderr}`)
  }
  return found
}

/** Where an export contradicts acknowledged writes, and where devices show something else than it has. */
function contradictionsIn({ history, counters, colleagues }: Work, ndjson: string): string[] {
  const items = new Map<string, { readonly realm: string; readonly n: number }>()
  const found: string[] = []
  for (const line of ndjson.split('\n')) {
    const { realm = '', table, id = '', data = {} } = line === '' ? {} : (JSON.parse(line) as Row)
    const n = Number(data['n'])
    if (table === 'items') items.set(id, { realm, n })
    if (table === 'counts' && n !== counters.get(id)) {
      found.push(`the counter ${id} is ${n}, but ${counters.get(id)} was acknowledged`)
    }
  }
  found.push(...history.contradictions(new Map([...items].map(([id, { n }]) => [id, n]))))
  for (const { id: person, phone, laptop } of colleagues) {
    for (const device of [phone, laptop]) {
      const shown = device.rowsOf('items')
      const realms = new Set([person, 'rlm-public', ...device.rowsOf('realms').keys()])
      const missing = [...items].filter(
        ([id, { realm, n }]) => realms.has(realm) && shown.get(id)?.['n'] !== n,
      )
      const left = [...shown.keys()].filter((id) => !items.has(id))
      if (missing.length + left.length === 0) continue
      found.push(`${device.name} lacks ${missing.length} objects and has ${left.length} too many`)
    }
  }
  return found
}

interface Row {
  readonly realm?: string
  readonly table?: string
  readonly id?: string
  readonly data?: Value
}
